"""States along a history: beliefs and core predictions as strips, and expected rewards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from rpsr.errors import InputError
from rpsr.io.records import Floats
from rpsr.logs.trajectories import Trajectories
from rpsr.models.as_model import named_models, wrong_type
from rpsr.models.labels import Index, Label, index_of
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.report.plots.style import (
    COLOURS,
    DASHES,
    DIVERGING,
    INK,
    MARKERS,
    PAGE,
    new_figure,
    styled,
)

MOST_ROWS = 40
MOST_STEPS = 60


@styled
def plot_trajectory(
    models: POMDP | LinearModel | Mapping[str, POMDP | LinearModel],
    history: Sequence[tuple[Label, Label]],
    *,
    states: Sequence[str] = (),
) -> Figure:
    """One strip per model, time from left to right, and below them the expected rewards.

    The state of a predictive model is shown in its core's coordinates, x T. Each strip has its own
    scale, on which white is zero. states: names for the rows of a model without a core; by default
    a POMDP's own. The last panel shows each model's expected reward of the next action.
    """
    linear = named_models(models)
    if not linear or not history:
        raise InputError("expected at least one model and a history of at least one interaction")
    given = models if isinstance(models, Mapping) else dict.fromkeys(linear, models)
    names = {str(name): states or _states(model) for name, model in given.items()}
    return _drawn(linear, history, names)


@styled
def plot_states(
    models: POMDP | LinearModel | Mapping[str, POMDP | LinearModel],
    trajectories: Trajectories,
    episode: int = 0,
    *,
    most: int = MOST_STEPS,
) -> Figure:
    """The states of models along one recorded episode: beliefs, or predictions of core tests.

    As `plot_trajectory`; the rewards received, if recorded, are dots beside the expected ones.
    most: the number of steps shown, from the first.
    """
    linear = named_models(models)
    log: Any = trajectories
    if not isinstance(log, Trajectories):
        raise wrong_type(log, "trajectories", "episodes, as simulate returns them")
    if not linear:
        raise InputError("models: expected at least one model")
    if not 0 <= episode < log.episodes:
        raise InputError(f"episode: read {episode}, expected 0 to {log.episodes - 1}")
    if most < 1:
        raise InputError(f"most: read {most}, expected at least 1 step")
    for name, model in linear.items():
        log.check_names(model.actions, model.observations, f"those of {name} are")
    steps = slice(log.offsets[episode], min(log.offsets[episode + 1], log.offsets[episode] + most))
    seen = map(Index, log.observations[steps])
    history = list(zip(log.actions[steps].tolist(), seen, strict=True))
    if not history:
        raise InputError(f"episode {episode} has no steps")
    given = models if isinstance(models, Mapping) else dict.fromkeys(linear, models)
    names = {str(name): _states(model) for name, model in given.items()}
    received = None if log.rewards is None else log.rewards[steps]
    length = int(log.lengths[episode])
    left = f", first {len(history)} of {length} steps" if len(history) < length else ""
    return _drawn(linear, history, names, received, f"episode {episode}{left}")


def _states(model: POMDP | LinearModel) -> Sequence[str]:
    return model.states if isinstance(model, POMDP) else ()


def _drawn(
    linear: Mapping[str, LinearModel],
    history: Sequence[tuple[Label, Label]],
    states: Mapping[str, Sequence[str]],
    received: Floats | None = None,
    title: str = "",
) -> Figure:
    """A strip per model, and the rewards; states: names for rows, by model."""
    paths = {name: _path(model, history) for name, model in linear.items()}
    readings = {name: _reading(linear[name], path) for name, path in paths.items()}
    heights = [0.5 + 0.17 * min(r.shape[1], MOST_ROWS) for r in readings.values()]
    figure = new_figure(max(PAGE, 1.6 + 0.17 * len(history)), sum(heights) + 2.4)
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=9.5)
    ratios = [*heights, 1.7]
    panels: Any = figure.subplots(
        len(ratios), 1, sharex=True, gridspec_kw={"height_ratios": ratios}
    )
    for axes, (name, model) in zip(panels, linear.items(), strict=False):
        _strip(figure, axes, name, model, readings[name], states[name])
    axes = panels[-1]
    names = next(iter(linear.values()))
    taken = [index_of(names.actions, a, "action") for a, _ in history]
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
    if received is not None:
        at = np.arange(len(taken)) + 0.5
        axes.plot(at, received, color=INK, linestyle="", marker="x", label="received")
    axes.set_ylabel("expected reward\nof the next action")
    axes.margins(y=0.15)
    axes.legend(ncols=len(linear) + 1, loc="upper left", bbox_to_anchor=(0, 1.3))
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
        axes.tick_params("x", labelsize=6.5 if len(ticks) > 20 else 8.0)
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
