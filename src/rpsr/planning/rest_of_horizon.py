"""Extends a plan of j steps to a horizon of H > j steps.

The H - j unplanned steps take one action at every observation, the one with the best worst-case
reward, argmax_a min_s R(s, a). So H - j layers of one tree each are added below the planned layers,
and each of these steps has a reward of at least max_a min_s R(s, a).

The trees are evaluated by backing up that action first and the planned layers after it. If time is
too short for that, the value of a tree is at least that of its j steps plus the worst reward of the
others. Either way vectors are at most their own backups, up to rounding, which is counted. Of the
planned layers, only as many are used as fit within the memory limit once more, evaluated; the plan
with one tree per step is counted from the beginning (`hold_shortest_plan`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rpsr.compile_limit import compiling_until
from rpsr.errors import InputError
from rpsr.io.records import Floats
from rpsr.models.linear import LinearModel
from rpsr.planning.corners.cheap_bounds import ahead_of, transitions
from rpsr.planning.corners.corner_model import CornerProcess
from rpsr.planning.corners.moves import backups
from rpsr.planning.limits import Clock, LimitReached
from rpsr.planning.value.value_function import ValueFunction

PLANNING = 0.9  # of the time limit; the rest is for evaluating the plan
SEEING = 0.1  # of the time left, for the value of a horizon with observed corners
MOST_NUMBERS = 2**30  # of the vectors of a plan with one tree per step: 8 GiB


def hold_shortest_plan(model: LinearModel, horizon: int, clock: Clock) -> None:
    """Count the bytes of a plan with one tree per step, or refuse the horizon."""
    numbers = horizon * model.dimension
    if numbers > MOST_NUMBERS:
        raise InputError(
            f"horizon: a plan for {horizon} steps on {model.name} takes at least "
            f"{8 * numbers} bytes: give a shorter horizon"
        )
    clock.hold(8 * numbers, f"the model and a plan for {horizon} steps take at least")


def completed(
    process: CornerProcess,
    planned: Sequence[ValueFunction],
    horizon: int,
    rounded: float,
    clock: Clock,
) -> tuple[tuple[ValueFunction, ...], float, float]:
    """The stages of all steps, the best tree's value at the start, and its proven part.

    planned: fewer stages than the horizon has steps. rounded: the most by which their values may
    exceed the values of their trees.
    """
    planned = _that_fit(process, planned, clock)
    left, action = horizon - len(planned), int(process.rewards.min(axis=1).argmax())
    cutoff, clock = clock.cutoff, clock.with_a_part()  # which suffices for most plans
    try:
        with compiling_until(cutoff):
            below, values, rounded = _valued(process, planned, left, action, clock)
    except (LimitReached, KeyboardInterrupt):
        below, values, more = _at_least(process, planned, left, action)
        rounded += more
    stages = _one_tree_each(process, below, action)
    for stage, worth in zip(planned, values, strict=True):
        successors = np.maximum(stage.successors, 0)
        stages.append(ValueFunction(process.lift(worth), stage.actions, successors))
    best = values[-1] if planned else below[-1:]
    value, off = process.vectors_at_start(stages[-1].vectors, best)
    lower = value - rounded - off
    try:
        with compiling_until(cutoff):
            constant = _constant(process, horizon, clock)
    except (LimitReached, KeyboardInterrupt):
        return tuple(stages), value, lower
    return constant if constant[2] > lower else (tuple(stages), value, lower)


def _that_fit(
    process: CornerProcess, planned: Sequence[ValueFunction], clock: Clock
) -> Sequence[ValueFunction]:
    """The first of the planned stages, as many as have room to be evaluated."""
    n, k, n_observations = process.model.dimension, process.k, process.observations
    sizes = np.array([len(stage) for stage in planned])
    # The values at the corners, the vectors and the successors of each; the choices of one.
    needed = np.cumsum(sizes) * (n + k + n_observations)
    needed += np.maximum.accumulate(sizes) * (1 + n_observations)
    return planned[: int((8 * needed <= clock.bytes_left).sum())]


def _constant(
    process: CornerProcess, horizon: int, clock: Clock
) -> tuple[tuple[ValueFunction, ...], float, float]:
    """The same for the best blind policy."""
    clock.claim(8 * horizon * (process.k + process.model.dimension))
    action = _best_constant(process, horizon, clock)
    below, _, rounded = _valued(process, (), horizon, action, clock)
    stages = _one_tree_each(process, below, action)
    value, off = process.vectors_at_start(stages[-1].vectors, below[-1:])
    return tuple(stages), value, value - rounded - off


def _one_tree_each(process: CornerProcess, values: Floats, action: int) -> list[ValueFunction]:
    """Layers of one tree each that takes an action, with values (steps, k) at the corners."""
    actions = np.array([action])
    only = np.zeros((1, process.observations), dtype=np.int64)
    never = np.full_like(only, -1)
    return [
        ValueFunction(vector[None], actions, only if step else never)
        for step, vector in enumerate(process.lift(values))
    ]


def seen_over(process: CornerProcess, horizon: int, clock: Clock) -> float:
    """An upper bound on the value at the start: the value if corners were observed.

    Infinite if there is no time to compute it.
    """
    moves, values, scale = transitions(process), np.zeros(process.k), 0.0
    try:
        for part in clock.parts(horizon, 4.0 * len(process.chance)):
            for _ in range(part.start, part.stop):
                values = ahead_of(process, moves, values)
                scale = max(scale, float(np.abs(values).max()))
    except LimitReached:
        return np.inf
    off = horizon * process.rounding(scale + float(np.abs(process.rewards).max()))
    return float(values @ process.start) + off + process.displaced * scale


def _best_constant(process: CornerProcess, horizon: int, clock: Clock) -> int:
    """The action of the best blind policy from the start over the horizon."""
    moves, k = transitions(process), process.k
    values = np.zeros_like(process.rewards)
    for part in clock.parts(horizon, 4.0 * len(process.chance)):
        for _ in range(part.start, part.stop):
            after = [moves[a * k : (a + 1) * k] @ value for a, value in enumerate(values)]
            values = process.rewards + np.array(after)
    return int((values @ process.start).argmax())


def _valued(
    process: CornerProcess, planned: Sequence[ValueFunction], left: int, action: int, clock: Clock
) -> tuple[Floats, list[Floats], float]:
    """The values of every layer's trees at the corners, and the rounding of the last layer.

    (left, k) for the layers of one tree, and (K_j, k) for each planned one.
    """
    largest = float(np.abs(process.rewards).max())
    below, values, rounded = np.empty((left, process.k)), list[Floats](), 0.0
    only = np.zeros((1, 1 + process.observations), dtype=np.int64)
    only[0, 0] = action
    after = np.zeros((1, process.k))
    for step in range(left + len(planned)):
        choices = only
        if step >= left:
            stage = planned[step - left]
            choices = np.column_stack([stage.actions, np.maximum(stage.successors, 0)])
        rounded *= process.discount
        rounded += process.rounding(largest + float(np.abs(after).max()))
        fresh = np.empty((len(choices), process.k))
        for part in clock.parts(len(choices), 2.0 * len(process.chance) / len(process.rewards)):
            fresh[part] = backups(process.moves, choices[part], after)
        if step < left:
            below[step] = fresh[0]
        else:
            values.append(fresh)
        after = fresh
    return below, values, rounded


def _at_least(
    process: CornerProcess, planned: Sequence[ValueFunction], left: int, action: int
) -> tuple[Floats, list[Floats], float]:
    """The same with the worst reward at every unplanned step; and the rounding of these steps."""
    discount = 1.0 if process.model.discount is None else process.model.discount
    powers = discount ** np.arange(horizon := left + len(planned))
    worth = float(process.rewards[action].min()) * np.cumsum(powers[:left])
    below = np.asarray(np.repeat(worth[:, None], process.k, axis=1), dtype=np.float64)
    values = [stage.vectors + powers[j] * worth[-1] for j, stage in enumerate(planned, 1)]
    scale = float(np.abs(process.rewards).max()) * float(powers.sum())
    return below, values, horizon * process.rounding(scale)
