"""Value iteration by enumeration: every cross-sum in full. The oracle for small models.

Without a horizon it starts from V_0 = the best blind reward's worst case for ever, a lower bound,
and repeats V_{j+1} = H V_j until discount^j times the widest possible error is at most epsilon:
V_j <= V* <= V_j + discount^j (best - worst) / (1 - discount), with what pruning and rounding may
hide added.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rpsr.models.linear import LinearModel
from rpsr.planning.backup import Stage, enumerated
from rpsr.planning.finite import planning_discount
from rpsr.planning.horizon import plan_horizon
from rpsr.planning.limits import Clock, LimitReached
from rpsr.planning.precision import PROVEN, Epsilon, check_epsilon, goal_of
from rpsr.planning.process import CornerProcess, corner_process
from rpsr.planning.pruning import Effort
from rpsr.planning.solution import Progress, ProgressRow, Solution, Status


@dataclass(frozen=True)
class Enumeration:
    """Plain value iteration for tiny models.

    horizon: steps to plan; None for the infinite horizon, to within epsilon over the domain.
    epsilon: in units of reward, or a share of the value at the start (`Relative`); by default 1e-9
    of the range of values (see `precision`).
    time_limit in seconds; memory_limit in bytes; max_iterations: backups.
    """

    horizon: int | None = None
    epsilon: Epsilon = None
    time_limit: float | None = None
    memory_limit: int | None = None
    max_iterations: int | None = None

    @property
    def name(self) -> str:
        """The planner's name on the command line."""
        return "enumeration"

    def solve(self, model: LinearModel, progress: Progress) -> Solution:
        """Plan by full cross-sums."""
        planning_discount(model, self.horizon)
        check_epsilon(self.epsilon)
        clock = Clock(progress, self.time_limit, self.memory_limit)
        if self.horizon is not None:
            return plan_horizon(
                self.name, model, self.horizon, clock, enumerated, _loss, self.max_iterations
            )
        return _converge(self, model, clock)


def _loss(_process: CornerProcess, tolerance: float) -> float:
    return 2 * tolerance  # the tolerance itself, and what rounding hides in its proofs


def _converge(planner: Enumeration, model: LinearModel, clock: Clock) -> Solution:
    process, effort = corner_process(model), Effort()
    clock.hold_model(process.nbytes)
    ahead = process.ahead
    action = int(process.rewards.min(axis=1).argmax())
    low = float(process.rewards[action].min()) * ahead
    low -= process.rounding(abs(low)) * ahead
    wide = float(process.rewards.max()) * ahead - low
    scale = float(np.abs(process.rewards).max()) * ahead
    tolerance = process.rounding(scale + abs(low))
    stage = Stage(
        np.full((1, process.k), low),
        np.array([action]),
        np.zeros((1, process.observations), dtype=np.int64),
    )
    status, steps = Status.SOLVED, 0
    rounded, lost = tolerance * ahead, _loss(process, tolerance) * ahead
    goal = goal_of(planner.epsilon, PROVEN, model, ahead)

    def wanted() -> float:
        value, off = process.value_at_start(stage.values)
        return goal.at(value - rounded - off, value + wide + rounded + lost + off)

    try:
        while wide + rounded + lost > max(wanted(), 2 * (rounded + lost)):  # as floats can prove
            if planner.max_iterations is not None and steps >= planner.max_iterations:
                raise LimitReached(Status.ITERATIONS)
            stage = enumerated(process, stage, tolerance, clock, effort)
            steps, wide = steps + 1, wide * process.discount
            value, off = process.value_at_start(stage.values)
            clock.report(
                ProgressRow(
                    seconds=clock.seconds,
                    iteration=steps,
                    lower=value - rounded - off,
                    upper=value + wide + rounded + lost + off,
                    gap=wide + lost + 2 * (rounded + off),
                    vectors=len(stage.values),
                    programs=effort.programs,
                )
            )
    except LimitReached as limit:
        status = limit.status
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    if status is Status.SOLVED and wide + rounded + lost > wanted():
        status = Status.ROUNDING
    value, off = process.value_at_start(stage.values)
    vectors, actions, successors = stage.lifted(process)
    return Solution(
        planner=planner.name,
        model=model,
        status=status,
        value=value,
        lower=value - rounded - off,
        upper=value + wide + rounded + lost + off,
        residual=None,
        epsilon=wide + rounded + lost,
        vectors=vectors,
        actions=actions,
        successors=np.full_like(successors, -1),
        iterations=steps,
        seconds=clock.seconds,
        trace=tuple(clock.rows),
        extras={"programs": effort.programs, "undecided": effort.undecided},
    )
