"""Planner `reachable`: enumerates the reachable states and solves that finite problem.

On the graph of reachable states (see `reachable_graph`) policy iteration is exact up to rounding.
The lower bound is the value of its last controller, one node per state, evaluated on the model by
linear algebra and checked against its own backup (see `proven_worth`): a policy's value in spite of
merging. The upper bound solves the graph again with additional rewards, for every edge the possible
error of merging and rounding, and for every action that of lost probability,

    discount * (P * (u - l) / 2 * |w|_1 + lost * max(|l|, |u|)),

so that it bounds the optimal value at the start even if the states are finitely many only after
merging, for example where beliefs converge but never reach their limit (tiger, stand-tiger). Merged
edges are then far from the states of an optimal policy, and the gap is rounding. The status tells
the two cases apart.

Without a discount, beliefs are computed in exact arithmetic (`exact_problem`). If they are not
finitely many, or known in floats only, a task that every policy ends is planned in a form that has
a discount, and another is refused.

For a finite horizon the graph ends at that depth, and backward induction solves it; discount 1 is
allowed.

If a limit (states, time, memory) or Ctrl-C stops the exploration, the value of an unexplored state
is at least that of the best blind policy, and at most the value with observed corners, which bounds
the value at the start. For a finite horizon, the steps that were explored, solved and evaluated in
time are planned, and the others take one action (see `rest_of_horizon`). All claims are about
states reachable from the start, and `Solution.epsilon` is the error at the start.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rpsr.errors import ModelError
from rpsr.planning.convergence import planning_discount, undiscounted
from rpsr.planning.corners.discounted_form import MayStay
from rpsr.planning.limits import Clock
from rpsr.planning.precision import CLOSED, MERGED, goal_of, goal_of_range
from rpsr.planning.reachable.exact_problem import (
    ExactBeliefGraph,
    explore_exactly,
    plan_exactly,
)
from rpsr.planning.reachable.horizon import plan_horizon
from rpsr.planning.reachable.infinite import plan_infinite
from rpsr.planning.reachable.reachable_graph import (
    LIMIT,
    TOLERANCE,
    Exploration,
    ReachableGraph,
    not_closed,
)
from rpsr.planning.rest_of_horizon import hold_shortest_plan
from rpsr.planning.runner import BasePlanner, Run
from rpsr.planning.solution import Solution, Status
from rpsr.planning.tasks_that_end import solve_task_that_ends

SAME = 1e-13  # states that differ by rounding only differ by less, others by more
EXACT = 1e-9  # of the scale of values: without a discount, a larger gap is more than rounding
EXPLORING = 0.5  # of the time limit, for exploring; the rest is for solving


@dataclass(frozen=True)
class Reachable(BasePlanner):
    """Plan on the reachable states, if they are finitely many.

    horizon: number of steps; default: infinite. epsilon: the largest gap at the start that merging
    states may cause, in units of reward or as a share of the value there (`Relative`); by default
    1e-12 of the range of values (see `precision`). max_states: the largest number of states.
    time_limit: seconds, half of them for exploring and half for solving.
    memory_limit: bytes, see `limits`. tolerance: states closer than this, relative to the start's
    size, are merged.
    """

    name = "reachable"
    without_discount = True

    horizon: int | None = None
    max_states: int = LIMIT
    tolerance: float = TOLERANCE

    def plan(self, run: Run) -> Solution:
        """Plan; a `ModelError` where merging states that differ costs more than epsilon."""
        model, clock, steps = run.model, run.clock, self.horizon
        if steps is None and undiscounted(model) and model.domain.known:
            return self._without_discount(run)
        planning_discount(model, steps)
        if steps is not None:
            hold_shortest_plan(model, steps, clock)
        exploration = Exploration(model, self.tolerance)
        sound = steps is None or model.domain.known  # else unplanned steps have no value
        if sound:
            run.offer(lambda: self._so_far(run, exploration.graph(Status.INTERRUPTED)))
        graph = exploration.run(
            replace(clock, time_limit=clock.share(EXPLORING).time_limit),
            limit=self.max_states,
            steps=steps,
            partial=True,
        )
        if sound:
            run.offer(lambda: self._so_far(run, graph))
        size = len(graph.states)
        run.report(0, None, None, points=size)
        try:
            if graph.stopped is Status.INTERRUPTED:
                raise KeyboardInterrupt
            solution = self.planned(run, graph, clock)
        except KeyboardInterrupt:
            clock.cutoff.stopped = True
            solution = self._so_far(run, graph)
        run.report(1, solution.lower, solution.upper, vectors=len(solution.vectors), points=size)
        return replace(solution, trace=tuple(clock.rows))

    def _without_discount(self, run: Run) -> Solution:
        """The plan on exact beliefs, or in a form that has a discount (see `tasks_that_end`)."""
        model, clock, stopped = run.model, run.clock, Status.SIZE
        exact = model.record is not None and model.record.exact
        if exact:
            share = replace(clock, time_limit=clock.share(EXPLORING).time_limit)
            graph = explore_exactly(model, self.max_states, share)
            if isinstance(graph, ExactBeliefGraph):
                return self.planned_exactly(run, graph)
            stopped = graph
        try:
            return solve_task_that_ends(self, model, clock.progress, None, BasePlanner.run_on)
        except MayStay:
            why = f"more than {self.max_states} beliefs are reachable"
            if stopped is not Status.SIZE:
                why = "a limit came before all reachable beliefs were found"
            elif not exact:
                why = "floats cannot tell whether reachable states repeat"
            raise ModelError(
                f"{model.name}: a task without a discount that a policy may continue indefinitely "
                f"needs all reachable beliefs, but {why}; plan with sarsop or hsvi, or give a "
                "horizon or a discount below 1"
            ) from None

    def planned_exactly(self, run: Run, graph: ExactBeliefGraph) -> Solution:
        """The plan on exact beliefs; `SETTLED` if its bounds are further apart than epsilon."""
        plan, size = plan_exactly(graph, run.clock), len(graph.beliefs)
        assert plan.upper is not None, "exact beliefs have corners"
        run.report(1, plan.lower, plan.upper, vectors=len(plan.value_function), points=size)
        wide = max(abs(plan.lower), abs(plan.upper), float(np.abs(run.model.rewards).max()))
        goal = goal_of_range(self.epsilon, CLOSED, wide).at(plan.lower, plan.upper)
        gap, stopped = plan.upper - plan.lower, Status.TIME if run.clock.over else Status.SETTLED
        status = Status.SOLVED if gap <= goal else stopped
        return run.solution(
            Status.EXACT if gap <= EXACT * wide else status,
            plan.value_function,
            (plan.lower, plan.upper),
            value=plan.value,
            iterations=1,
            epsilon=plan.rounded,
            states=size,
            closed_exactly=True,
        )

    def _so_far(self, run: Run, graph: ReachableGraph) -> Solution:
        """A plan on a graph within a short time."""
        return self.planned(run, graph, run.clock.hurried(), Status.INTERRUPTED)

    def planned(
        self, run: Run, graph: ReachableGraph, clock: Clock, stopped: Status | None = None
    ) -> Solution:
        """The plan on a graph of reachable states.

        stopped: the reason why the graph or the plan is known to be incomplete beforehand, or None.
        """
        model, steps, size = run.model, self.horizon, len(graph.states)
        discount = planning_discount(model, steps)
        if steps is None:
            plan = plan_infinite(graph, run.process, discount, clock)
            why = Status.TIME if clock.over else None
        else:
            plan = plan_horizon(graph, run.process, discount, steps, clock)
            why = Status.TIME if plan is None else plan.stopped
        stopped = stopped or graph.stopped or why
        if plan is None:
            assert stopped is not None, "a plan that was not stopped is whole"
            level, limits = int(graph.depth.max()), (self.time_limit, self.memory_limit)
            raise not_closed(model, stopped, level, self.max_states, *limits)
        close = bool(graph.edges.moved.max(initial=0.0) <= SAME)
        gap = None if plan.upper is None else plan.upper - plan.lower
        ahead = sum(discount**k for k in range(steps)) if steps else 1 / (1 - discount)
        allowed = goal_of(self.epsilon, MERGED, model, ahead).at(plan.lower, plan.upper)
        if not (stopped or close) and (gap is None or gap - plan.rounded > allowed):
            if gap is None:  # the valid states are unknown, so vi refuses the model, too
                cost = "an unknown amount"
                advice = "planner pbvi" if steps is None else "a smaller tolerance"
            else:
                cost = f"up to {gap:.2g}, more than epsilon {allowed:g} allows"
                advice = "a larger epsilon, or planner vi"
            raise ModelError(
                f"{model.name}: the planner merged nearly equal reachable states and kept {size}. "
                f"Merging may change the value by {cost}; use {advice}"
            )
        return run.solution(
            stopped or _status(close, steps),
            plan.value_function,
            (plan.lower, plan.upper),
            value=plan.value,
            iterations=1,
            epsilon=None if stopped else gap,
            stages=plan.stages,
            states=size,
            closed_exactly=close,
        )


def _status(close: bool, horizon: int | None) -> Status:
    if not close:
        return Status.SOLVED
    return Status.EXACT if horizon is None else Status.HORIZON
