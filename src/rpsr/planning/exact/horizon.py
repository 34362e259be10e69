"""Finite horizons: the optimal k-step policy trees, for k = 1 up to the horizon.

V_0 = 0 and V_{j+1} = H V_j; the vectors of V_j are policy trees of depth j, each with its first
action and, for every observation, the tree of V_{j-1} that it continues with. Pruning drops a tree
only if the kept ones are proven to be as good, up to the rounding of values. The discounted sum of
those tolerances is the width of the interval between the reported lower and upper value.

Stopped after j of k steps, the trees are optimal for j steps and are followed by one action for the
others (see `rest_of_horizon`). The optimal return of these is at most the best reward at every
step. A plan for one step always exists: one vector per action, without pruning.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from rpsr.planning.corners.corner_model import CornerProcess
from rpsr.planning.corners.pruning import Effort
from rpsr.planning.limits import Clock
from rpsr.planning.rest_of_horizon import PLANNING, SEEING, completed, hold_shortest_plan, seen_over
from rpsr.planning.runner import Run
from rpsr.planning.solution import Solution, Status
from rpsr.planning.value.value_function import ValueFunction

Backup = Callable[[CornerProcess, ValueFunction, float, Clock, Effort], ValueFunction]


def plan_horizon(
    run: Run,
    horizon: int,
    backup: Backup,
    loss_of: Callable[[CornerProcess, float], float],
    max_iterations: int | None = None,
) -> Solution:
    """The optimal trees of every depth up to the horizon, at least 1, by repeated backups."""
    clock, process, effort = run.clock, run.corners(), Effort()
    hold_shortest_plan(run.model, horizon, clock)
    seen = seen_over(process, horizon, clock.share(SEEING))
    planning = replace(clock, time_limit=clock.share(PLANNING).time_limit)
    never = np.full((1, process.observations), -1, dtype=np.int64)
    nothing = ValueFunction(np.zeros((1, process.k)), np.zeros(1, dtype=np.int64), never)
    stages: list[ValueFunction] = []
    lost = rounded = 0.0

    def plan_steps() -> Status:
        nonlocal lost, rounded
        for step in range(horizon):
            if max_iterations is not None and step >= max_iterations:
                return Status.ITERATIONS
            before = stages[-1] if stages else nothing
            scale = float(np.abs(process.rewards).max() + np.abs(before.vectors).max())
            tolerance = process.rounding(scale)
            stage = backup(process, before, tolerance, planning, effort)
            if step == 0:
                stage = replace(stage, successors=np.full_like(stage.successors, -1))
            stages.append(stage)
            planning.held += stage.nbytes
            rounded = tolerance + process.discount * rounded
            lost = loss_of(process, tolerance) + process.discount * lost
            value, off = process.value_at_start(stage.vectors)
            lower, upper = value - rounded - off, value + rounded + lost + off
            run.report(step + 1, lower, upper, vectors=len(stage), programs=effort.programs)
        return Status.HORIZON

    def finished(status: Status, clock: Clock) -> Solution:
        actions = np.arange(len(process.rewards))
        one = ValueFunction(process.rewards, actions, np.repeat(never, len(actions), 0))
        planned, wrong, missed = stages, rounded, lost
        if not stages:
            planned, wrong = [one], process.rounding(float(np.abs(process.rewards).max()))
            missed = wrong
        value, off = process.value_at_start(planned[-1].vectors)
        lower, upper = value - wrong - off, value + wrong + missed + off
        if len(planned) == horizon:
            lifted = tuple(process.lifted(stage) for stage in planned)
        else:
            upper += _at_most(process, len(planned), horizon)
            lifted, value, lower = completed(process, planned, horizon, wrong, clock)
        return run.solution(
            status,
            lifted[-1],
            (lower, min(upper, seen)),
            value=value,
            iterations=len(planned),
            epsilon=missed + wrong if status is Status.HORIZON else None,
            stages=lifted,
            programs=effort.programs,
            undecided=effort.undecided,
        )

    run.offer(lambda: finished(Status.INTERRUPTED, planning.hurried()))
    status = run.attempt(plan_steps)
    left = clock.hurried() if status is Status.INTERRUPTED else clock
    return finished(status, replace(left, held=planning.held))


def _at_most(process: CornerProcess, planned: int, horizon: int) -> float:
    """An upper bound on the return of the unplanned steps."""
    discount = process.model.discount
    discount = 1.0 if discount is None else discount
    weight = sum(discount**t for t in range(planned, horizon))
    off = process.rounding(weight * float(np.abs(process.rewards).max())) * (horizon - planned)
    return weight * float(process.rewards.max()) + off
