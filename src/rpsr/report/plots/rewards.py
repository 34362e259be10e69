"""Rewards of a POMDP: the true ones, the PSR's reconstruction, and the difference."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from rpsr.io.records import Floats, Ints
from rpsr.models.as_model import as_pomdp
from rpsr.models.pomdp import POMDP
from rpsr.predictive.reward_accuracy import Accuracy, accuracy
from rpsr.report.plots.style import DIVERGING, NARROW, PAGE, new_figure, styled
from rpsr.report.tables import show

MOST_STATES = 60
NUMBERED = 24  # states whose rewards are also printed in their cells
_TITLES = ("true R", "reconstructed by the PSR", "difference")


@styled
def plot_reconstruction(
    pomdp: POMDP, found: Accuracy | Floats | None = None, *, stacked: bool = False
) -> Figure:
    """Heat maps of R, of its reconstruction U U^+ R and of their difference, on one scale.

    Rows are states, columns actions; white is zero. Of more than 60 states those with the largest
    errors are drawn, in their order. found: `rpsr.accuracy(pomdp)` or its reconstruction (S, A);
    computed if it is not given. stacked: one map below the other, for a narrow page, and of at most
    24 states.
    """
    pomdp = as_pomdp(pomdp)
    given = accuracy(pomdp) if found is None else found
    reconstruction = given.reconstruction if isinstance(given, Accuracy) else given
    states = worst_states(pomdp, reconstruction, NUMBERED if stacked else MOST_STATES)
    maps = [pomdp.R[states], reconstruction[states]]
    maps.append(maps[1] - maps[0])
    limit = max(float(np.abs(array).max()) for array in maps) or 1.0
    norm = Normalize(-limit, limit)
    height = 1.0 + 0.2 * len(states) if len(states) <= NUMBERED else 1.0 + 0.115 * len(states)
    if stacked:
        figure = new_figure(NARROW, 3 * max(1.4, height - 0.4) + 0.4)
        all_axes: Any = figure.subplots(3, 1)
    else:
        figure = new_figure(PAGE, max(2.2, height))
        all_axes = figure.subplots(1, 3, sharey=True)
    image: Any = None
    for axes, array, title in zip(all_axes, maps, _TITLES, strict=True):
        image = axes.pcolormesh(array, cmap=DIVERGING, norm=norm, edgecolors="white", linewidth=0.4)
        axes.set_title(title)
        axes.set_xticks(np.arange(len(pomdp.actions)) + 0.5, pomdp.actions)
        axes.tick_params(length=0)
        if sum(map(len, pomdp.actions)) > 22:
            axes.tick_params("x", rotation=40)
            for label in axes.get_xticklabels():
                label.set_horizontalalignment("right")
        for spine in axes.spines.values():
            spine.set_visible(False)
        if len(states) <= NUMBERED and len(pomdp.actions) <= 6:
            _print_numbers(axes, array, limit)
    small = 7.0 if len(states) <= NUMBERED else 5.5
    for axes in all_axes if stacked else all_axes[:1]:
        axes.set_yticks(np.arange(len(states)) + 0.5, [pomdp.states[s] for s in states])
        axes.tick_params("y", labelsize=small)
        axes.invert_yaxis()
    bar = figure.colorbar(image, ax=all_axes, fraction=0.035, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0)
    return figure


def worst_states(pomdp: POMDP, reconstruction: Floats, most: int = MOST_STATES) -> Ints:
    """The states that the heat map shows: all, or those with the largest errors, in order."""
    errors = np.abs(pomdp.R - reconstruction).max(axis=1)
    scale = float(np.abs(pomdp.R).max()) or 1.0
    order = -np.round(errors / scale, 9)  # rounding does not decide between states
    worst = np.argsort(order, kind="stable")[:most]
    return np.sort(worst)


def _print_numbers(axes: Any, array: Floats, limit: float) -> None:
    for (row, column), value in np.ndenumerate(array):
        dark = abs(value) > 0.6 * limit
        axes.text(
            column + 0.5,
            row + 0.5,
            show(float(round(value, 12)), ".3g"),
            ha="center",
            va="center",
            fontsize=6.5,
            color="white" if dark else "black",
        )
