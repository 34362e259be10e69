"""Finite horizons: the optimal k-step policy trees, for k = 1 up to the horizon.

V_0 = 0 and V_{j+1} = H V_j; the vectors of V_j are policy trees of depth j, each with its first
action and, for every observation, the tree of V_{j-1} that it goes on with. Pruning drops a tree
only when what is kept is proven as good, up to the rounding of values; the sum of those tolerances,
discounted, is the width of the interval between the lower and the upper value that is reported.

Stopped early after j of k steps, the trees so far are optimal for j steps, and are followed by one
action for the others (see `unplanned`). The optimal plan earns no more in those than the best
reward at every step. There is always a plan for one step: a vector an action, which needs no
pruning.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from rpsr.models.linear import LinearModel
from rpsr.planning.limits import Clock, LimitReached
from rpsr.planning.process import CornerProcess, corner_process
from rpsr.planning.pruning import Effort
from rpsr.planning.solution import ProgressRow, Solution, Status
from rpsr.planning.unplanned import PLANNING, completed, hold_shortest_plan
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
    hold_shortest_plan(model, horizon, clock)
    planning = replace(clock, time_limit=clock.share(PLANNING).time_limit)
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
            stage = backup(process, stage, tolerance, planning, effort)
            if step == 0:
                stage = ValueFunction(
                    stage.vectors, stage.actions, np.full_like(stage.successors, -1)
                )
            stages.append(stage)
            planning.held += stage.nbytes
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
    lower, upper = value - rounded - off, value + rounded + lost + off
    planned = len(stages)
    if planned == horizon:
        lifted = tuple(process.lifted(stage) for stage in stages)
    else:
        upper += _at_most(process, planned, horizon)
        lifted, value, lower = completed(process, stages, horizon, rounded, clock)
    return Solution(
        planner=name,
        model=model,
        status=status,
        value=value,
        lower=lower,
        upper=upper,
        residual=None,
        epsilon=lost + rounded if status is Status.HORIZON else None,
        value_function=lifted[-1],
        iterations=planned,
        seconds=clock.seconds,
        horizon=horizon,
        trace=tuple(clock.rows),
        stages=lifted,
        extras={"programs": effort.programs, "undecided": effort.undecided},
    )


def _at_most(process: CornerProcess, planned: int, horizon: int) -> float:
    """What the steps that were not planned earn at most."""
    discount = process.model.discount
    discount = 1.0 if discount is None else discount
    weight = sum(discount**t for t in range(planned, horizon))
    off = process.rounding(weight * float(np.abs(process.rewards).max())) * (horizon - planned)
    return weight * float(process.rewards.max()) + off
