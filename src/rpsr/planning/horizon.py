"""Finite horizons: the optimal k-step policy trees, for k = 1 up to the horizon.

V_0 = 0 and V_{j+1} = H V_j; the vectors of V_j are policy trees of depth j, each with its first
action and, for every observation, the tree of V_{j-1} that it goes on with. Pruning drops a tree
only when what is kept is proven as good, up to the rounding of values; the sum of those tolerances,
discounted, is the width of the interval between the lower and the upper value that is reported.

Stopped early after j of k steps, the trees so far are optimal for j steps. The remaining k - j
earn between the best action's worst reward and the best reward a step, which bounds the rest.
There is always a plan for one step: a vector an action, which needs no pruning.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rpsr.models.linear import LinearModel
from rpsr.planning.limits import Clock, LimitReached
from rpsr.planning.process import CornerProcess, corner_process
from rpsr.planning.pruning import Effort
from rpsr.planning.solution import ProgressRow, Solution, Status
from rpsr.planning.value_function import ValueFunction

Backup = Callable[[CornerProcess, ValueFunction, float, Clock, Effort], ValueFunction]


def plan_horizon(
    name: str,
    model: LinearModel,
    horizon: int,
    clock: Clock,
    backup: Backup,
    loss_of: Callable[[CornerProcess, float], float],
    max_iterations: int | None = None,
) -> Solution:
    """The optimal trees of every depth up to the horizon, at least 1, by repeated backups."""
    process, effort = corner_process(model), Effort()
    clock.hold_model(process.nbytes)
    nothing = np.zeros((1, process.k))
    stage = ValueFunction(
        nothing,
        np.zeros(1, dtype=np.int64),
        np.full((1, process.observations), -1, dtype=np.int64),
    )
    stages: list[ValueFunction] = []
    status, lost, rounded = Status.HORIZON, 0.0, 0.0
    try:
        for step in range(horizon):
            if max_iterations is not None and step >= max_iterations:
                raise LimitReached(Status.ITERATIONS)
            scale = float(np.abs(process.rewards).max() + np.abs(stage.vectors).max())
            tolerance = process.rounding(scale)
            stage = backup(process, stage, tolerance, clock, effort)
            if step == 0:
                stage = ValueFunction(
                    stage.vectors, stage.actions, np.full_like(stage.successors, -1)
                )
            stages.append(stage)
            clock.held += stage.nbytes
            rounded = tolerance + process.discount * rounded
            lost = loss_of(process, tolerance) + process.discount * lost
            value, off = process.value_at_start(stage.vectors)
            row = ProgressRow(
                seconds=clock.seconds,
                iteration=step + 1,
                lower=value - rounded - off,
                upper=value + rounded + lost + off,
                gap=2 * (rounded + off) + lost,
                vectors=len(stage.vectors),
                programs=effort.programs,
            )
            clock.report(row)
    except LimitReached as limit:
        status = limit.status
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    if not stages:
        n_actions = len(process.rewards)
        never = np.full((n_actions, process.observations), -1, dtype=np.int64)
        stage = ValueFunction(process.rewards, np.arange(n_actions), never)
        stages.append(stage)
    value, off = process.value_at_start(stage.vectors)
    worst, best = _rest(process, len(stages), horizon)
    return Solution(
        planner=name,
        model=model,
        status=status,
        value=value,
        lower=value - rounded - off + worst,
        upper=value + rounded + lost + off + best,
        residual=None,
        epsilon=lost + rounded if status is Status.HORIZON else None,
        value_function=process.lifted(stage),
        iterations=len(stages),
        seconds=clock.seconds,
        horizon=len(stages),
        trace=tuple(clock.rows),
        stages=tuple(process.lifted(stage) for stage in stages),
        extras={"programs": effort.programs, "undecided": effort.undecided},
    )


def _rest(process: CornerProcess, done: int, horizon: int) -> tuple[float, float]:
    """What the steps that were not planned earn at least and at most."""
    discount = process.model.discount
    discount = 1.0 if discount is None else discount
    weight = sum(discount**t for t in range(done, horizon))
    off = process.rounding(weight * float(np.abs(process.rewards).max())) * (horizon - done)
    return (
        weight * float(process.rewards.min(axis=1).max()) - off,
        weight * float(process.rewards.max()) + off,
    )
