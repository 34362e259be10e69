"""The corridor of load/unload, with the true reward and the PSR's on every edge where they differ.

The paper draws this for five cells. Here the figure is drawn from the model itself, for any number
of cells: positions come from the names of states, edges from its process, numbers from its rewards
and their reconstruction.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch
from matplotlib.path import Path

from rpsr.errors import ModelError
from rpsr.io.records import Floats
from rpsr.models.as_model import as_pomdp
from rpsr.models.pomdp import POMDP
from rpsr.predictive.reward_accuracy import accuracy
from rpsr.report.plots.style import COLOURS, INK, PAPER, new_figure, styled

_RADIUS = 0.17
_ROWS = {"loaded": 1.15, "empty": 0.0}


@styled
def plot_corridor(pomdp: POMDP, reconstruction: Floats | None = None) -> Figure:
    """Load/unload's states, the moves between them, and on some moves `true (PSR)` rewards.

    reconstruction (S, A): `rpsr.accuracy(pomdp).reconstruction`, computed if it is not given. Moves
    on which both rewards are zero carry no number.
    """
    pomdp = as_pomdp(pomdp)
    reconstruction = accuracy(pomdp).reconstruction if reconstruction is None else reconstruction
    places = [_place(name) for name in pomdp.states]
    cells = 1 + max(int(place[0]) for place in places)
    figure = new_figure(max(4.0, 1.15 * cells + 1.1), 2.6)
    axes = figure.add_subplot()
    edges = _edges(pomdp, reconstruction)
    for (source, target), label in edges.items():
        here, there = places[source], places[target]
        back = (target, source) in edges
        if source == target:
            _loop(axes, here, label)
        elif not label and back and not edges[target, source]:
            if source < target:
                _arrow(axes, here, there, 0.0, "<|-|>")
        else:
            _arrow(axes, here, there, 0.16 if back else 0.0, "-|>", label)
    for number, place in enumerate(places):
        axes.add_patch(
            Circle((place[0], place[1]), _RADIUS, facecolor=PAPER, edgecolor=INK, zorder=3)
        )
        axes.text(place[0], place[1], str(number), ha="center", va="center", fontsize=8, zorder=4)
    for name, height in _ROWS.items():
        axes.text(-0.72, height, name, ha="right", va="center")
    axes.text(0, -0.62, "loading", ha="center", va="top", fontsize=8)
    axes.text(cells - 1, -0.62, "unloading", ha="center", va="top", fontsize=8)
    if cells > 2:
        axes.text((cells - 1) / 2, -0.62, "travel", ha="center", va="top", fontsize=8)
    axes.text(
        cells - 0.3,
        1.75,
        "true reward (the PSR's)",
        ha="right",
        va="center",
        fontsize=8,
        color=COLOURS[1],
    )
    axes.set_xlim(-1.45, cells - 1 + 0.95)
    axes.set_ylim(-0.85, 1.85)
    axes.set_aspect("equal")
    axes.set_axis_off()
    return figure


def _place(name: str) -> Floats:
    row, _, cell = name.partition("-")
    if row not in _ROWS or not cell.isdigit():
        raise ModelError(
            f"the corridor can be drawn only for load/unload: {name!r} is not a state of it"
        )
    return np.array([float(cell), _ROWS[row]])


def _edges(pomdp: POMDP, reconstruction: Floats) -> dict[tuple[int, int], str]:
    """Moves (source, target), and `true (PSR)` where one of them is not zero."""
    edges: dict[tuple[int, int], str] = {}
    for a in range(len(pomdp.actions)):
        moves = sum(block for block in pomdp.D[a]).tocoo()  # type: ignore[union-attr]
        for source, target in zip(moves.row.tolist(), moves.col.tolist(), strict=True):
            pair = [_fraction(array[source, a]) for array in (pomdp.R, reconstruction)]
            edges[source, target] = "" if pair == ["0", "0"] else f"{pair[0]} ({pair[1]})"
    return edges


def _fraction(number: float) -> str:
    return str(Fraction(float(number)).limit_denominator(1000))


def _arrow(
    axes: Axes, source: Floats, target: Floats, bend: float, style: str, label: str = ""
) -> None:
    between = target - source
    side = np.array([-between[1], between[0]])
    t = np.linspace(0, 1, 33)[:, None]
    control = (source + target) / 2 + bend * side
    curve = (1 - t) ** 2 * source + 2 * t * (1 - t) * control + t**2 * target
    clear = [
        bool(min(np.hypot(*(p - source)), np.hypot(*(p - target))) > _RADIUS + 0.02) for p in curve
    ]
    _draw(axes, curve[clear], style, bool(label))
    if label:
        level = abs(between[1]) < 0.1
        offset = (0.13 if level else 0.0) * np.sign(bend or 1.0) * side / np.hypot(*side)
        _label(axes, curve[16] + offset, label)


def _loop(axes: Axes, place: Floats, label: str) -> None:
    loaded = place[1] > 0.5
    turn = np.pi * 0.75 if loaded else -np.pi * 0.25  # away from the corridor
    reach, angles = [_RADIUS, 0.72, 0.72, _RADIUS], [0.5, 0.45, -0.45, -0.5]
    p0, p1, p2, p3 = (
        place + r * np.array([np.cos(turn + a), np.sin(turn + a)])
        for r, a in zip(reach, angles, strict=True)
    )
    t = np.linspace(0, 1, 33)[:, None]
    curve = (1 - t) ** 3 * p0 + 3 * t * (1 - t) ** 2 * p1 + 3 * t**2 * (1 - t) * p2 + t**3 * p3
    _draw(axes, curve[1:-1], "-|>", bool(label))
    if label:
        _label(axes, curve[16] + 0.12 * np.array([np.cos(turn), np.sin(turn)]), label)


def _draw(axes: Axes, curve: Floats, style: str, marked: bool) -> None:
    axes.add_patch(
        FancyArrowPatch(
            path=Path(curve.tolist()),
            arrowstyle=style,
            mutation_scale=9,
            linewidth=1.4 if marked else 0.9,
            color=COLOURS[1] if marked else INK,
            zorder=1,
        )
    )


def _label(axes: Axes, place: Floats, label: str) -> None:
    axes.text(
        place[0],
        place[1],
        label,
        ha="center",
        va="center",
        fontsize=7.5,
        zorder=2,
        bbox={"boxstyle": "round,pad=0.1", "facecolor": PAPER, "edgecolor": "none"},
    )
