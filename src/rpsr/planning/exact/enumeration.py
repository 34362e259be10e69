"""Value iteration by enumeration of full cross-sums: an oracle for small models.

Without a horizon it starts from V_0 = the values of blind policies, lower bounds, and repeats
V_{j+1} = H V_j until discount^j times the largest possible error is at most epsilon:
V_j <= V* <= V_j + discount^j max (V_MDP - V_0), plus the errors of pruning and rounding.

A vector of V_j continues with vectors of V_{j-1}, and so on down to V_0, which takes one
action at every step. The result is V_j with the earlier vectors that it continues with, as a
controller. An earlier vector is replaced by a stand-in if another vector equals or exceeds it at
every corner, which holds for nearly all once values have converged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rpsr.planning.convergence import planning_discount
from rpsr.planning.corners.cheap_bounds import blind_values, mdp_values, upper_at_start
from rpsr.planning.corners.corner_model import CornerProcess
from rpsr.planning.corners.covering import close
from rpsr.planning.corners.proven_worth import worth_at_start
from rpsr.planning.corners.pruning import Effort
from rpsr.planning.exact.backup import enumerated
from rpsr.planning.exact.horizon import plan_horizon
from rpsr.planning.precision import PROVEN, goal_of
from rpsr.planning.runner import BasePlanner, Run
from rpsr.planning.solution import Solution, Status
from rpsr.planning.value.value_function import ValueFunction

BLIND_SHARE, SEEING_SHARE = 0.1, 0.2  # of the time left, for the initial bounds


@dataclass(frozen=True)
class Enumeration(BasePlanner):
    """Plain value iteration for tiny models.

    horizon: steps to plan; None for the infinite horizon, to within epsilon over the domain.
    epsilon: in units of reward, or a share of the value at the start (`Relative`); by default 1e-9
    of the range of values (see `precision`).
    time_limit: in seconds. memory_limit: in bytes. max_iterations: backups.
    """

    name = "enumeration"

    horizon: int | None = None
    max_iterations: int | None = None

    def plan(self, run: Run) -> Solution:
        """Plan by full cross-sums."""
        planning_discount(run.model, self.horizon)
        if self.horizon is not None:
            return plan_horizon(run, self.horizon, enumerated, _loss, self.max_iterations)
        return _converge(self, run)


def _loss(_process: CornerProcess, tolerance: float) -> float:
    return 2 * tolerance  # the tolerance, and rounding errors in its proofs


def _converge(planner: Enumeration, run: Run) -> Solution:
    process, effort = run.corners(), Effort()
    ahead = process.ahead
    blind = blind_values(process, run.clock.share(BLIND_SHARE))
    seen = mdp_values(process, run.clock.share(SEEING_SHARE))
    value, off = process.value_at_start(blind)
    least = value - off  # proven, and no plan of V_j is worse, except for rounding
    most = upper_at_start(process, seen[None])
    wide = float((seen - blind).max(axis=1).min())
    scale = float(np.abs(process.rewards).max()) * ahead
    tolerance = process.rounding(scale + float(np.abs(blind).max()))
    stages = [ValueFunction.repeating(blind, np.arange(len(blind)), process.observations)]
    rounded, lost = tolerance * ahead, _loss(process, tolerance) * ahead
    goal = goal_of(planner.epsilon, PROVEN, run.model, ahead)

    def bounds(stage: ValueFunction) -> tuple[float, float]:
        value, off = process.value_at_start(stage.vectors)
        return value - rounded - lost - off, min(most, value + wide + rounded + lost + off)

    def wanted() -> float:
        value, off = process.value_at_start(stages[-1].vectors)
        return goal.at(value - rounded - off, value + wide + rounded + lost + off)

    def converge() -> Status:
        nonlocal wide
        while wide + rounded + lost > max(wanted(), 2 * (rounded + lost)):  # the limit of floats
            if planner.max_iterations is not None and len(stages) > planner.max_iterations:
                return Status.ITERATIONS
            stages.append(enumerated(process, stages[-1], tolerance, run.clock, effort))
            run.clock.held += stages[-1].nbytes
            wide *= process.discount
            size, programs = len(stages[-1]), effort.programs
            run.report(len(stages) - 1, *bounds(stages[-1]), vectors=size, programs=programs)
        return Status.ROUNDING if wide + rounded + lost > wanted() else Status.SOLVED

    def finished(status: Status) -> Solution:
        controller = _controller(stages, tolerance)
        lifted, (lower, upper) = process.lifted(controller), bounds(controller)
        # The loss was estimated for the largest possible values; the plan itself has less.
        first = int((lifted.vectors @ run.model.start).argmax())
        worth = worth_at_start(process, lifted.vectors, lifted.choices, first)
        value, _ = process.value_at_start(controller.vectors)
        return run.solution(
            status,
            lifted,
            (max(lower, worth, min(least, value)), upper),
            value=value,
            iterations=len(stages) - 1,
            epsilon=wide + rounded + lost,
            programs=effort.programs,
            undecided=effort.undecided,
        )

    run.offer(lambda: finished(Status.INTERRUPTED))
    return finished(run.attempt(converge))


def _controller(stages: list[ValueFunction], slack: float) -> ValueFunction:
    """The last stage with its successors in earlier stages; vectors of the first follow themselves.

    slack: the largest amount by which a stand-in may be below the replaced vector.
    """
    begins = np.cumsum([0] + [len(stage.vectors) for stage in stages])
    following = [stages[0].successors] + [
        stage.successors + begin for stage, begin in zip(stages[1:], begins, strict=False)
    ]
    values = np.concatenate([stage.vectors for stage in stages])
    actions = np.concatenate([stage.actions for stage in stages])
    choices = np.column_stack([actions, np.concatenate(following)])
    wanted = np.arange(len(values)) >= begins[-2]
    deputy = close(values, choices, slack, wanted)
    place = np.cumsum(wanted) - 1
    return ValueFunction(values[wanted], actions[wanted], place[deputy[choices[wanted, 1:]]])
