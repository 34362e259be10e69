"""The value function over the domain, for models of two or three corners: exact regions, no grid.

V(x) = max_k v_k . x is drawn in belief coordinates, a weight for each corner. Over a segment it is
the upper envelope of lines. Over a triangle, the region where one vector is best is the triangle
cut by one half-plane for every other vector: a convex polygon.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Polygon

from rpsr.errors import InputError, ModelError
from rpsr.io.records import Floats, Ints
from rpsr.models.as_model import wrong_type
from rpsr.models.labels import Label, index_of
from rpsr.models.pomdp import POMDP
from rpsr.planning.solution import Solution
from rpsr.planning.value.coordinates import to_beliefs
from rpsr.report.plots.style import COLOURS, COLUMN, INK, PAPER, new_figure, styled

_TRIANGLE = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])
_HATCHES = ("", "///", "...", "\\\\\\", "xx", "++", "oo")
_LEVELS = 6
LEAST_MASS = 0.01  # of a belief on three states, to be drawn among them


@styled
def plot_value_function(solution: Solution, corners: POMDP | tuple[str, ...] = ()) -> Figure:
    """The value of every state of a domain with two corners (a segment) or three (a triangle).

    corners: their names, or the POMDP whose states they are; by default, numbers. Colours show the
    first action; thin lines are vectors (segment) or levels of value (triangle).
    """
    values, names = _at_corners(solution, corners)
    k = values.shape[1]
    if k not in (2, 3):
        raise ModelError(
            f"the value function cannot be drawn: the model has {k} corners (states of its POMDP), "
            "expected 2 or 3; plot_simplex draws it for any three states"
        )
    return (_segment if k == 2 else _triangle)(solution, values, names)


@styled
def plot_simplex(
    plan: Solution,
    states: Sequence[Label] = (),
    *,
    corners: POMDP | tuple[str, ...] = (),
    beliefs: Floats | Sequence[Sequence[float]] | None = None,
) -> Figure:
    """The triangle of the beliefs in three states, coloured by the best policy's first action.

    The regions are exact: those of the value function for beliefs in these three states alone.
    states: names or numbers; may be left out if there are only three. corners: the POMDP, or the
    names of all its states. beliefs, (m, states of the POMDP): drawn as dots, each where the belief
    is given one of the three states; its area is their probability.
    """
    values, names = _at_corners(plan, corners)
    if not corners and any(isinstance(state, str) and state not in names for state in states):
        raise InputError("states: a plan has no names of states; give corners, the POMDP")
    chosen = [index_of(names, state, "state") for state in states or range(len(names))]
    if len(chosen) != 3 or len(set(chosen)) != 3:
        given = len(set(chosen)) if states else f"none of {len(names)} states"
        raise InputError(f"states: read {given}, expected three different ones")
    figure = _triangle(plan, values[:, chosen], tuple(names[i] for i in chosen))
    if beliefs is not None:
        points = np.atleast_2d(np.asarray(beliefs, dtype=np.float64))
        if points.ndim != 2 or points.shape[1] != len(names):
            raise InputError(f"beliefs: read shape {points.shape}, expected (m, {len(names)})")
        if not (points >= 0).all() or not np.allclose(points.sum(axis=1), 1):
            raise InputError("beliefs: expected rows of probabilities that sum to 1")
        _dots(figure.axes[0], points[:, chosen])
    return figure


def _dots(axes: Axes, weights: Floats) -> None:
    """Beliefs given that one of three states is the true one; weights (m, 3)."""
    mass = weights.sum(axis=1)
    shown = mass > LEAST_MASS
    points = (weights[shown] / mass[shown, None]) @ _TRIANGLE
    axes.scatter(
        *points.T,
        s=26 * mass[shown],
        facecolor=INK,
        edgecolor=PAPER,
        linewidth=0.6,
        zorder=4,
        clip_on=False,
    )


def _at_corners(
    solution: Solution, corners: POMDP | tuple[str, ...]
) -> tuple[Floats, tuple[str, ...]]:
    """The vectors in belief coordinates, (K, k), and the names of the k corners."""
    given: Any = solution
    if not isinstance(given, Solution):
        raise wrong_type(given, "solution", "a plan")
    if solution.value_function.ahead is not None:
        raise ModelError(
            "the vectors of this plan are its values only in states that can follow an "
            "interaction, so they cannot be drawn; plan with ValueIteration(faces=False)"
        )
    values = to_beliefs(solution.model, solution.vectors)
    k = values.shape[1]
    named = corners.states if isinstance(corners, POMDP) else tuple(corners)
    names = named or tuple(f"state {i}" for i in range(k))
    if len(names) != k:
        raise InputError(f"corners: read {len(names)} names, expected {k}")
    return values, names


def _segment(solution: Solution, values: Floats, names: tuple[str, ...]) -> Figure:
    figure = new_figure(COLUMN, 3.0)
    axes = figure.add_subplot()
    for left, right in values:
        axes.plot([0, 1], [left, right], color=COLOURS[6], linewidth=0.5, alpha=0.5)
    pieces = envelope(values)
    shown: set[int] = set()
    for k, low, high in pieces:
        action = int(solution.actions[k])
        ends = np.array([low, high])
        axes.plot(
            ends,
            values[k, 0] + ends * (values[k, 1] - values[k, 0]),
            color=_colour(action),
            linewidth=2.6,
            solid_capstyle="butt",
            label=solution.model.actions[action] if action not in shown else None,
        )
        shown.add(action)
    for _, low, _ in pieces[1:]:
        axes.axvline(low, color=INK, linewidth=0.4, alpha=0.35)
    top = float(values.max())
    least = min(float(values[k] @ (1 - x, x)) for k, low, high in pieces for x in (low, high))
    span = (top - least) or 1.0
    axes.set_ylim(least - 0.3 * span, top + 0.08 * span)  # values far below are not drawn
    axes.set_xlim(0, 1)
    axes.set_xlabel(f"probability of {names[1]} (at 0: {names[0]})")
    axes.set_ylabel("value")
    axes.legend(
        title="first action",
        ncols=min(4, len(shown)),
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
    )
    return figure


def envelope(values: Floats) -> list[tuple[int, float, float]]:
    """Where each vector is best: (k, from, to), from left to right, none empty."""
    slopes = values[:, 1] - values[:, 0]
    at = 0.0
    k = max(range(len(values)), key=lambda i: (values[i, 0], slopes[i]))
    pieces: list[tuple[int, float, float]] = []
    while True:
        steeper = [i for i in range(len(values)) if slopes[i] > slopes[k]]
        crossings = [((values[k, 0] - values[i, 0]) / (slopes[i] - slopes[k]), i) for i in steeper]
        ahead = [(x, -slopes[i], i) for x, i in crossings if at <= x < 1]
        if not ahead:
            return [*pieces, (k, at, 1.0)]
        x, _, following = min(ahead)
        if x > at:
            pieces.append((k, at, float(x)))
        at, k = float(x), following


def _triangle(solution: Solution, values: Floats, names: tuple[str, ...]) -> Figure:
    figure = new_figure(COLUMN, 3.9)
    axes = figure.add_subplot()
    kept = undominated(values)
    actions, values = solution.actions[kept], values[kept]
    levels = _levels(values)
    shown: set[int] = set()
    for k in range(len(values)):
        polygon = region(values, k)
        if len(polygon) < 3:
            continue
        action = int(actions[k])
        shown.add(action)
        axes.add_patch(
            Polygon(
                polygon @ _TRIANGLE,
                facecolor=_colour(action),
                alpha=0.3,
                hatch=_HATCHES[action % len(_HATCHES)],
                edgecolor=PAPER,
                linewidth=0.6,
            )
        )
        for level in levels:
            _level_line(axes, polygon, values[k], level)
    axes.add_patch(Polygon(_TRIANGLE, fill=False, edgecolor=INK, linewidth=1.0))
    tops = values.max(axis=0)
    for name, top, point, (ha, va), offset in zip(
        names,
        tops,
        _TRIANGLE,
        (("center", "top"), ("center", "top"), ("center", "bottom")),
        ((0, -4), (0, -4), (0, 4)),
        strict=True,
    ):
        axes.annotate(
            f"{name}\n{top:.4g}",
            point,
            xytext=offset,
            textcoords="offset points",
            ha=ha,
            va=va,
        )
    handles = [
        Patch(
            facecolor=_colour(a),
            alpha=0.5,
            hatch=_HATCHES[a % len(_HATCHES)],
            edgecolor=PAPER,
            label=solution.model.actions[a],
        )
        for a in sorted(shown)
    ]
    axes.legend(
        handles=handles, title="first action", loc="upper left", bbox_to_anchor=(-0.02, 1.02)
    )
    axes.set_xlim(-0.12, 1.12)
    axes.set_ylim(-0.14, 1.0)
    axes.set_aspect("equal")
    axes.set_axis_off()
    return figure


def undominated(values: Floats) -> Ints:
    """The vectors that no other one is at least as good as at every corner; equal ones once."""
    _, first = np.unique(values, axis=0, return_index=True)
    distinct = np.sort(first)
    return np.array(
        [k for k in distinct if (values[distinct] >= values[k]).all(axis=1).sum() == 1],
        dtype=np.int64,
    )


def _levels(values: Floats) -> Floats:
    """Heights to draw, between the least value and the greatest.

    V is convex, so its least value is at a corner of a region.
    """
    points = np.vstack([region(values, k) for k in range(len(values))])
    least = float((points @ values.T).max(axis=1).min())
    return np.linspace(least, float(values.max()), _LEVELS + 2)[1:-1]


def region(values: Floats, k: int) -> Floats:
    """The polygon, in weights of corners (p, 3), where vector k is best."""
    polygon = np.eye(3)
    for other in range(len(values)):
        if other == k:
            continue
        difference = values[k] - values[other]
        if other < k and not difference.any():
            return np.empty((0, 3))  # the same vector twice: the first one has it
        polygon = _cut(polygon, difference)
        if len(polygon) == 0:
            break
    return polygon


def _cut(polygon: Floats, normal: Floats) -> Floats:
    """The part of a polygon where normal . x >= 0."""
    heights = polygon @ normal
    kept: list[Floats] = []
    for i in range(len(polygon)):
        here, there = heights[i], heights[(i + 1) % len(polygon)]
        if here >= 0:
            kept.append(polygon[i])
        if (here > 0 > there) or (here < 0 < there):
            share = here / (here - there)
            kept.append(polygon[i] + share * (polygon[(i + 1) % len(polygon)] - polygon[i]))
    return np.array(kept) if len(kept) >= 3 else np.empty((0, 3))


def _level_line(axes: Any, polygon: Floats, vector: Floats, level: float) -> None:
    heights = polygon @ vector - level
    ends: list[Floats] = []
    for i in range(len(polygon)):
        here, there = heights[i], heights[(i + 1) % len(polygon)]
        if (here > 0) != (there > 0):
            share = here / (here - there)
            ends.append(polygon[i] + share * (polygon[(i + 1) % len(polygon)] - polygon[i]))
    if len(ends) == 2:
        points = np.array(ends) @ _TRIANGLE
        axes.plot(points[:, 0], points[:, 1], color=INK, linewidth=0.7, alpha=0.8)


def _colour(action: int) -> str:
    return COLOURS[action % len(COLOURS)]
