"""States along a history: beliefs and core predictions as strips, and expected rewards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from rpsr.errors import InputError
from rpsr.io.records import Floats
from rpsr.models.given import named_models
from rpsr.models.labels import Label, index_of
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.report.plots.style import COLOURS, DASHES, DIVERGING, MARKERS, PAGE, new_figure, styled

MOST_ROWS = 40


@styled
def plot_trajectory(
    models: POMDP | LinearModel | Mapping[str, POMDP | LinearModel],
    history: Sequence[tuple[Label, Label]],
    *,
    states: Sequence[str] = (),
) -> Figure:
    """One strip per model, time from left to right, and below them the expected rewards.

    The state of a predictive model is shown in its core's coordinates, x T. Each strip has its own
    scale, on which white is zero. states: names for the rows of a model without a core. The last
    panel shows each model's expected reward of the next action.
    """
    linear = named_models(models)
    if not linear or not history:
        raise InputError("expected at least one model and a history of at least one interaction")
    paths = {name: _path(model, history) for name, model in linear.items()}
    readings = {name: _reading(linear[name], path) for name, path in paths.items()}
    heights = [0.5 + 0.17 * min(r.shape[1], MOST_ROWS) for r in readings.values()]
    figure = new_figure(PAGE, sum(heights) + 2.4)
    ratios = [*heights, 1.7]
    panels: Any = figure.subplots(
        len(ratios), 1, sharex=True, gridspec_kw={"height_ratios": ratios}
    )
    for axes, (name, model) in zip(panels, linear.items(), strict=False):
        _strip(figure, axes, name, model, readings[name], states)
    axes = panels[-1]
    taken = [index_of(next(iter(linear.values())).actions, a, "action") for a, _ in history]
    for i, (name, model) in enumerate(linear.items()):
        earned = paths[name] @ model.rewards
        axes.plot(
            np.arange(len(taken)) + 0.5,
            [earned[t, a] for t, a in enumerate(taken)],
            color=COLOURS[i % len(COLOURS)],
            linestyle=DASHES[i % len(DASHES)],
            marker=MARKERS[i % len(MARKERS)],
            markersize=5 - i,
            label=name,
        )
    axes.set_ylabel("expected reward\nof the next action")
    axes.margins(y=0.15)
    axes.legend(ncols=len(linear), loc="upper left", bbox_to_anchor=(0, 1.3))
    names = next(iter(linear.values()))
    ticks = ["start"]
    for a, o in history:
        action = names.actions[index_of(names.actions, a, "action")]
        ticks.append(
            f"{action}\n{names.observations[index_of(names.observations, o, 'observation')]}"
        )
    axes.set_xticks(np.arange(len(ticks)) + 0.5, ticks)
    axes.set_xlim(0, len(ticks))
    if max(map(len, ticks)) * len(ticks) > 120:
        axes.tick_params("x", rotation=90)
    return figure


def _path(model: LinearModel, history: Sequence[tuple[Label, Label]]) -> Floats:
    """The model's states, (T + 1, n)."""
    filter_ = model.filter()
    return np.stack([filter_.state, *(filter_.update(a, o) for a, o in history)])


def _reading(model: LinearModel, path: Floats) -> Floats:
    return path if model.coordinates is None else path @ model.coordinates


def _strip(
    figure: Figure,
    axes: Any,
    name: str,
    model: LinearModel,
    reading: Floats,
    states: Sequence[str],
) -> None:
    labels = model.core or states or tuple(str(i) for i in range(model.dimension))
    shown = np.sort(np.argsort(-np.abs(reading).max(axis=0), kind="stable")[:MOST_ROWS])
    limit = float(np.abs(reading).max()) or 1.0
    image = axes.pcolormesh(
        reading[:, shown].T,
        cmap=DIVERGING,
        norm=Normalize(-limit, limit),
        edgecolors="white",
        linewidth=0.4,
    )
    left = f", {len(shown)} of {reading.shape[1]} rows" if len(shown) < reading.shape[1] else ""
    axes.set_title(name + left, loc="left")
    axes.set_yticks(np.arange(len(shown)) + 0.5, [labels[i] for i in shown])
    axes.tick_params("y", labelsize=6.5, length=0)
    axes.tick_params("x", length=0)
    axes.invert_yaxis()
    for spine in axes.spines.values():
        spine.set_visible(False)
    bar = figure.colorbar(image, ax=axes, fraction=0.03, pad=0.01)
    bar.outline.set_visible(False)
    bar.ax.set_ylim(min(0.0, float(reading.min())), limit)
    bar.ax.tick_params(labelsize=6.5, length=0)
