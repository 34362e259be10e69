"""Tables, figures and pages."""

from rpsr.report.page import Card, Figure, Grid, Page, Section, Text, write_page
from rpsr.report.plots.corridor import plot_corridor
from rpsr.report.plots.planning import plot_bounds, plot_convergence
from rpsr.report.plots.policy_graphs import plot_policy_graph
from rpsr.report.plots.predictions import plot_predictions
from rpsr.report.plots.returns import plot_returns
from rpsr.report.plots.rewards import plot_reconstruction
from rpsr.report.plots.svg import png_bytes, svg_text
from rpsr.report.plots.trajectories import plot_states, plot_trajectory
from rpsr.report.plots.values import plot_simplex, plot_value_function
from rpsr.report.stepper import Stepper, Steps
from rpsr.report.tables import Table

__all__ = [
    "Card",
    "Figure",
    "Grid",
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
    "plot_predictions",
    "plot_reconstruction",
    "plot_returns",
    "plot_simplex",
    "plot_states",
    "plot_trajectory",
    "plot_value_function",
    "png_bytes",
    "svg_text",
    "write_page",
]
