"""Tables, figures and pages: what people look at."""

from rpsr.report.corridor_plot import plot_corridor
from rpsr.report.page import Figure, Page, Section, Text, write_page
from rpsr.report.planning_plots import plot_bounds, plot_convergence
from rpsr.report.policy_graphs import plot_policy_graph
from rpsr.report.return_plots import plot_returns
from rpsr.report.reward_plots import plot_reconstruction
from rpsr.report.stepper import Stepper, Steps
from rpsr.report.svg import png_bytes, svg_text
from rpsr.report.tables import Table
from rpsr.report.trajectory_plots import plot_trajectory
from rpsr.report.value_plots import plot_value_function

__all__ = [
    "Figure",
    "Page",
    "Section",
    "Stepper",
    "Steps",
    "Table",
    "Text",
    "plot_bounds",
    "plot_convergence",
    "plot_corridor",
    "plot_policy_graph",
    "plot_reconstruction",
    "plot_returns",
    "plot_trajectory",
    "plot_value_function",
    "png_bytes",
    "svg_text",
    "write_page",
]
