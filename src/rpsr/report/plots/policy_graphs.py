"""A finite-state controller as a graph: nodes are actions, edges observations.

Nodes stand on a circle in the order in which they are first reached, the first at the top. Edges
between the same two nodes are drawn once, with all their observations. Given a model, only edges
that can be taken are drawn: the support of every belief that can reach a node is followed through
the process of its corners, which is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch
from matplotlib.path import Path

from rpsr.errors import ModelError
from rpsr.io.records import Bools, Floats
from rpsr.models.given import as_linear, wrong_type
from rpsr.models.linear import LinearModel
from rpsr.models.operators import SparseOperators
from rpsr.models.pomdp import POMDP
from rpsr.planning.solution import Solution
from rpsr.planning.value.controllers import (
    ControllerPolicy,
    FiniteStateController,
    extract_controller,
)
from rpsr.report.plots.style import COLOURS, INK, PAPER, new_figure, styled

MOST_NODES = 30
_RADIUS = 0.34
_BEND = 0.16
_MARGIN = 0.85
_INCHES = 0.85  # of the figure, for a unit of the layout
_WIDEST = 28  # characters of a label before it is cut


@styled
def plot_policy_graph(
    controller: FiniteStateController | ControllerPolicy | Solution,
    model: POMDP | LinearModel | None = None,
    *,
    most: int = MOST_NODES,
) -> Figure:
    """The reachable nodes of a controller, and the observations that lead from one to another.

    controller: the controller, or a plan, whose own model is then the default.
    model: of the system; without it every observation counts as possible.
    most: the largest number of nodes; a controller that reaches more is an error.
    """
    if isinstance(controller, Solution):
        model = controller.model if model is None else model
        controller = extract_controller(controller)
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
    spread = max(1.5, len(order) / 4)
    angles = np.pi / 2 - 2 * np.pi * np.arange(len(order)) / max(len(order), 1)
    places = {
        node: spread * np.array([1.25 * np.cos(angle), np.sin(angle)])
        for node, angle in zip(order, angles, strict=True)
    }
    corners = np.stack(list(places.values()))
    low, high = corners.min(axis=0) - _MARGIN, corners.max(axis=0) + _MARGIN
    figure = new_figure(*(_INCHES * (high - low)))
    axes = figure.add_subplot()
    leaving = {source: sum(len(seen) for at, _, seen in edges if at == source) for source in order}
    taken = [_Box(place, 2 * _RADIUS, 2 * _RADIUS) for place in places.values()]
    for source, target, seen in edges:
        curve = _loop(places[source])
        if source != target:
            curve = _arrow(places[source], places[target])
        _draw(axes, curve)
        label = "any" if leaving[source] == len(seen) > 1 else _label(seen, controller)
        taken.append(_name(axes, curve, label, taken))
    for node, place in places.items():
        _node(axes, place, controller, node)
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    axes.set_aspect("equal")
    axes.set_axis_off()
    return figure


def reachable_edges(
    controller: FiniteStateController, model: LinearModel | None
) -> list[tuple[int, int, tuple[int, ...]]]:
    """(source, target, observations), in breadth-first order from the first node."""
    if model is not None:
        controller.check(model)
    process, support = _process(model)
    reached: dict[int, Bools] = {controller.first: support}
    queue = [controller.first]
    taken: dict[tuple[int, int], set[int]] = {}
    while queue:
        node = queue.pop(0)
        for o in range(len(controller.observation_names)):
            after = np.ones(1, dtype=np.bool_)
            if process is not None:
                block = process[int(controller.actions[node])][o]
                after = np.asarray(reached[node].astype(float) @ block) > 0
            if not after.any():
                continue
            target = controller.after(node, o)
            taken.setdefault((node, target), set()).add(o)
            before = reached.get(target)
            if before is None or (after & ~before).any():
                reached[target] = after if before is None else before | after
                queue.append(target)
    return [(source, target, tuple(sorted(seen))) for (source, target), seen in taken.items()]


def _process(model: LinearModel | None) -> tuple[Any, Bools]:
    """How corners move to corners, and which of them the start may be a mixture of."""
    if model is None:
        return None, np.ones(1, dtype=np.bool_)
    if isinstance(model.operators, SparseOperators):
        return model.operators.process, model.start > 0
    if model.domain.known:  # any corner may be part of the start
        return model.corner_kernel, np.ones(model.domain.size, dtype=np.bool_)
    return None, np.ones(1, dtype=np.bool_)


def _label(seen: tuple[int, ...], controller: FiniteStateController) -> str:
    names = [controller.observation_names[o] for o in seen]
    text = ", ".join(names)
    if len(text) <= _WIDEST:
        return text
    return f"{names[0]} and {len(names) - 1} more" if len(names) > 1 else text[:_WIDEST] + "…"


def _node(axes: Axes, place: Floats, controller: FiniteStateController, node: int) -> None:
    action = int(controller.actions[node])
    first = node == controller.first
    axes.add_patch(
        Circle(
            (float(place[0]), float(place[1])),
            _RADIUS,
            facecolor=PAPER,
            edgecolor=COLOURS[action % len(COLOURS)],
            linewidth=3.2 if first else 1.6,
            zorder=3,
        )
    )
    name = controller.action_names[action]
    shown = name if len(name) <= 12 else name[:11] + "…"
    small = 8.0 if len(shown) <= 7 else 6.5
    axes.text(place[0], place[1], shown, ha="center", va="center", fontsize=small, zorder=4)
    if first:
        axes.annotate(
            "start",
            (place[0], place[1] + _RADIUS),
            xytext=(0, 16),
            textcoords="offset points",
            ha="center",
            fontsize=7.5,
            arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": 1.0},
            zorder=4,
        )


def _arrow(source: Floats, target: Floats) -> Floats:
    """A curve between two circles, bent to one side so that there and back do not coincide."""
    between = target - source
    control = (source + target) / 2 + _BEND * np.array([between[1], -between[0]])
    t = np.linspace(0, 1, 65)[:, None]
    curve = (1 - t) ** 2 * source + 2 * t * (1 - t) * control + t**2 * target
    outside = np.hypot(*(curve - source).T) >= _RADIUS
    return curve[outside & (np.hypot(*(curve - target).T) >= _RADIUS)]


def _loop(place: Floats) -> Floats:
    """A curve from a circle to itself, away from the middle of the figure."""
    outward = np.arctan2(place[1], place[0])
    if abs(outward - np.pi / 2) < 0.3:  # the first node's arrow comes from above
        outward -= np.pi / 4
    turns = outward + np.array([0.45, 0.5, -0.5, -0.45])
    reach = _RADIUS * np.array([1.0, 2.9, 2.9, 1.0])
    p0, p1, p2, p3 = place + reach[:, None] * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    t = np.linspace(0, 1, 33)[:, None]
    return (1 - t) ** 3 * p0 + 3 * t * (1 - t) ** 2 * p1 + 3 * t**2 * (1 - t) * p2 + t**3 * p3


def _draw(axes: Axes, curve: Floats) -> None:
    axes.add_patch(
        FancyArrowPatch(
            path=Path(curve.tolist()),
            arrowstyle="-|>",
            mutation_scale=9,
            linewidth=0.9,
            color=INK,
            zorder=1,
        )
    )


@dataclass(frozen=True)
class _Box:
    """A rectangle: its centre, width and height."""

    middle: Floats
    width: float
    height: float

    def overlap(self, other: _Box) -> float:
        """The area that two boxes share."""
        apart = np.abs(self.middle - other.middle)
        wide = (self.width + other.width) / 2 - apart[0]
        high = (self.height + other.height) / 2 - apart[1]
        return float(max(wide, 0.0) * max(high, 0.0))


def _name(axes: Axes, curve: Floats, label: str, taken: list[_Box]) -> _Box:
    """Write a label on a curve where it overlaps least with other elements."""
    shares = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74)
    boxes = [
        _Box(curve[int(share * (len(curve) - 1))], 0.072 * len(label) + 0.06, 0.18)
        for share in shares
    ]
    box = min(boxes, key=lambda box: sum(box.overlap(other) for other in taken))
    axes.text(
        box.middle[0],
        box.middle[1],
        label,
        ha="center",
        va="center",
        fontsize=7,
        zorder=2,
        bbox={"boxstyle": "round,pad=0.12", "facecolor": PAPER, "edgecolor": "none"},
    )
    return box
