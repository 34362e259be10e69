"""The matrix of predictions: histories by futures, whose rank is the size of a predictive state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from rpsr.errors import InputError
from rpsr.models.as_model import as_linear
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.predictive.futures import Intent, Test, Token, parse_future
from rpsr.predictive.views import expect
from rpsr.report.plots.style import DIVERGING, INK, new_figure, styled
from rpsr.report.tables import show


@styled
def plot_predictions(
    model: POMDP | LinearModel, histories: Sequence[str], futures: Sequence[str]
) -> Figure:
    """Predictions after histories, one row per history (H of them), one column per future (F).

    A future is a test (its probability is shown) or an intent (its expected reward), in the text
    form of `rpsr.predictive`; a history is a test that has happened, ε for none. A line separates
    tests from intents.
    """
    linear = as_linear(model)
    if not histories or not futures:
        raise InputError("expected at least one history and one future")
    parsed = [parse_future(future) for future in futures]
    tests = [future for future in parsed if _is_probability(future)]
    order = [*tests, *(future for future in parsed if not _is_probability(future))]
    numbers = np.array([[expect(linear, future, past) for future in order] for past in histories])
    longest = max(len(str(future)) for future in order)
    width = 0.7 + 0.065 * max(map(len, histories)) + 0.62 * len(order) + 0.05 * len(str(order[-1]))
    figure = new_figure(width, 0.5 + 0.038 * longest + 0.3 * len(histories))
    axes: Any = figure.add_subplot()
    limit = max(1.0, float(np.abs(numbers).max()))
    axes.pcolormesh(
        numbers, cmap=DIVERGING, norm=Normalize(-limit, limit), edgecolors="white", linewidth=0.8
    )
    for (row, column), value in np.ndenumerate(numbers):
        colour = "white" if abs(value) > 0.6 * limit else "black"
        text = show(float(round(value, 12)), ".3g")
        axes.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=8, color=colour)
    axes.set_yticks(np.arange(len(histories)) + 0.5, [str(past) for past in histories])
    axes.set_xticks(np.arange(len(order)) + 0.5, [str(future) for future in order])
    axes.tick_params(length=0)
    axes.xaxis.tick_top()
    axes.tick_params("x", rotation=35)
    for label in axes.get_xticklabels():
        label.set_horizontalalignment("left")
    axes.invert_yaxis()
    axes.set_ylabel("after this history")
    if 0 < len(tests) < len(order):
        axes.axvline(len(tests), color=INK, linewidth=1.5)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return figure


def _is_probability(future: Test | Intent) -> bool:
    return isinstance(future, Test) or isinstance(future.action, Token)
