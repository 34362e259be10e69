"""A finite-state controller as a graph: nodes are actions, edges observations.

Nodes stand in layers by their distance from the start, which is on the left (see `layered`). Edges
between the same two nodes are drawn once, with all their observations. Given a model, only edges
that can be taken are drawn, and nodes of a plan that act alike are drawn once (see
`planning.value.controller_graphs`).
"""

from __future__ import annotations

import warnings
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.path import Path
from matplotlib.text import Text
from matplotlib.textpath import TextToPath

from rpsr.errors import ModelError
from rpsr.io.records import Floats
from rpsr.models.as_model import as_linear, wrong_type
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.planning.solution import Solution
from rpsr.planning.value.controller_graphs import merged, reachable_edges
from rpsr.planning.value.controllers import (
    ControllerPolicy,
    FiniteStateController,
    extract_controller,
)
from rpsr.printable import printable
from rpsr.report.plots.layered import Box, Edge, Layout, Size, layered
from rpsr.report.plots.style import COLOURS, INK, PAPER, new_figure, styled
from rpsr.showing import counted

MOST_NODES = 30
_MERGED = 1000  # nodes of a plan that are merged where they act alike
GRAPH = "policy-graph"  # the id of a graph in an SVG file; a page's script looks for it
_NAME, _SEEN = 8.0, 7.0  # font sizes of actions and observations, in points
_WIDEST = 28  # characters of a label before it is shortened
_MARGIN = 0.12
_START = 0.62  # inches left of the first node


@styled
def plot_policy_graph(
    controller: FiniteStateController | ControllerPolicy | Solution,
    model: POMDP | LinearModel | None = None,
    *,
    most: int = MOST_NODES,
) -> Figure:
    """The reachable nodes of a controller, and the observations that lead from one to another.

    controller: the controller, or a plan, whose own model is then the default. Nodes of a plan that
        act alike after all histories are drawn as one.
    model: of the system; without it every observation counts as possible.
    most: the largest number of nodes; a controller that reaches more is an error.
    """
    if isinstance(controller, Solution):
        model = controller.model if model is None else model
        whole = extract_controller(controller)
        controller = merged(whole, as_linear(model), most=_MERGED) or whole
    elif isinstance(controller, ControllerPolicy):
        controller = controller.controller
    given: Any = controller
    if not isinstance(given, FiniteStateController):
        raise wrong_type(given, "controller", "a plan or a controller")
    edges = reachable_edges(controller, None if model is None else as_linear(model))
    order = list(dict.fromkeys([controller.first, *(node for edge in edges for node in edge[:2])]))
    if len(order) > most:
        raise ModelError(
            f"the controller reaches {len(order)} nodes; a graph is drawn for at most {most}"
        )
    layout, names = _layout(controller, order, edges)
    left, right, bottom, top = layout.extent
    size = (right - left + 2 * _MARGIN + _START, top - bottom + 2 * _MARGIN)
    figure = new_figure(*size)
    figure.set_layout_engine("none")
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))  # in inches: texts are as wide as measured
    axes.set_xlim(left - _MARGIN - _START, right + _MARGIN)
    axes.set_ylim(bottom - _MARGIN, top + _MARGIN)
    axes.set_axis_off()
    axes.set_gid(GRAPH)
    for (source, target), line in layout.lines.items():
        _draw(axes, line, controller, source, target, layout)
    for edge, box in layout.labels.items():
        text = _write(axes, box, names[edge], _SEEN)
        text.set_bbox({"boxstyle": "square,pad=0.1", "facecolor": PAPER, "edgecolor": "none"})
        text.set_gid("edge-{}-{}-label".format(*edge))
    for node, box in layout.nodes.items():
        _node(axes, box, controller, node)
    return figure


def _layout(
    controller: FiniteStateController,
    order: list[int],
    edges: list[tuple[int, int, tuple[int, ...]]],
) -> tuple[Layout, dict[Edge, str]]:
    """Where nodes and edges are, in inches, and the labels of edges."""
    leaving = {source: sum(len(seen) for at, _, seen in edges if at == source) for source in order}
    names = {
        (source, target): "any"
        if leaving[source] == len(seen) > 1
        else joined([controller.observation_names[o] for o in seen])
        for source, target, seen in edges
    }
    boxes: dict[int, Size] = {}
    for node in order:
        width, height = _measured(_action(controller, node), _NAME)
        boxes[node] = (max(width + 0.2, 0.5), height + 0.18)
    return layered(
        controller.first, boxes, {edge: _measured(text, _SEEN) for edge, text in names.items()}
    ), names


def joined(names: list[str]) -> str:
    """The names in one label; of many, the first ones and the number of others."""
    whole = ", ".join(names)
    if len(whole) <= _WIDEST or len(names) == 1:
        return _cut(whole, _WIDEST)
    texts = [
        (", ".join(names[:kept]), f" and {counted(len(names) - kept, 'other')}")
        for kept in range(len(names) - 1, 0, -1)
    ]
    text, others = next((pair for pair in texts if len("".join(pair)) <= _WIDEST), texts[-1])
    return _cut(text, _WIDEST - len(others)) + others


def _cut(name: str, most: int) -> str:
    name = printable(name, one_line=True)
    return name if len(name) <= most else name[: most - 1] + "…"


def _action(controller: FiniteStateController, node: int) -> str:
    return _cut(controller.action_names[int(controller.actions[node])], 20)


def _measured(text: str, points: float) -> Size:
    """The width and height of a text, in inches, with a little air."""
    font = FontProperties(size=points)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a browser has the letters that this font lacks
        width, _, _ = TextToPath().get_text_width_height_descent(text, font, ismath=False)
    return width / 72 + 0.06, 1.25 * points / 72 + 0.03


def _write(axes: Axes, box: Box, text: str, points: float) -> Text:
    return axes.text(box.x, box.y, text, ha="center", va="center_baseline", fontsize=points)


def _node(axes: Axes, box: Box, controller: FiniteStateController, node: int) -> None:
    """A node, and an arrow to the first one."""
    first = node == controller.first
    colour = COLOURS[int(controller.actions[node]) % len(COLOURS)]
    axes.add_patch(
        FancyBboxPatch(
            (box.left, box.bottom),
            box.width,
            box.height,
            boxstyle="round,pad=0,rounding_size=0.12",
            facecolor=PAPER,
            edgecolor=colour,
            linewidth=2.8 if first else 1.6,
            zorder=3,
            gid=f"node-{node}",
        )
    )
    name = _write(axes, box, _action(controller, node), _NAME)
    name.set_zorder(4)
    name.set_gid(f"node-{node}-name")
    if first:
        axes.annotate(
            "start",
            (box.left - 0.02, box.y),
            xytext=(box.left - _START / 2 - 0.1, box.y),
            ha="center",
            va="center_baseline",
            fontsize=7.5,
            arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": 1.0, "shrinkB": 0},
            zorder=4,
        )


def _draw(
    axes: Axes,
    line: Floats,
    controller: FiniteStateController,
    source: int,
    target: int,
    layout: Layout,
) -> None:
    """An edge in the colour of the action it leads to; one that leads back is dashed."""
    back = layout.layers[target] < layout.layers[source]
    codes = [Path.MOVETO, *[Path.CURVE4] * (len(line) - 1)]
    axes.add_patch(
        FancyArrowPatch(
            path=Path(line.tolist(), codes),
            arrowstyle="-|>",
            mutation_scale=8,
            linewidth=0.9,
            linestyle="--" if back else "-",
            color=COLOURS[int(controller.actions[target]) % len(COLOURS)],
            shrinkA=0,
            shrinkB=0,
            zorder=1,
            gid=f"edge-{source}-{target}",
        )
    )
