"""Planners `qmdp` and `fib`: upper bounds as value functions, and what acting by them is worth.

Both are bounds at the corners of the domain, one vector an action (see `cheap_bounds`): QMDP as if
the state were seen from the next step on, the fast-informed bound with one step less of that. Where
a model has fewer dimensions than corners, a bound at the corners need not be linear in its states;
then the nearest linear function is raised until it is above at every corner.

The rule is to look one step ahead to the bound. It is followed from the start, through up to a
number of states, and continues with the best blind policy beyond them (see `followed`). That is a
finite-state controller with a value of its own, and so is the best blind policy alone. The better
of the two is what is returned: its vectors, its value and, rounding paid for, the lower bound. On
problems where information must be gathered acting by the bound may be poor, and the lower bound
then says so. `Solution.extras["bound"]` holds the vectors of the upper bound, (A, n).

References: M. L. Littman, A. R. Cassandra, L. P. Kaelbling, "Learning policies for partially
observable environments: scaling up", ICML 1995, for QMDP; M. Hauskrecht, "Value-function
approximations for partially observable Markov decision processes", Journal of Artificial
Intelligence Research 13 (2000), for the fast-informed bound.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from rpsr.errors import InputError, ModelError
from rpsr.io.records import Floats, Ints
from rpsr.planning.corners.cheap_bounds import (
    above_corners,
    fast_informed_values,
    first_upper,
    qmdp_values,
)
from rpsr.planning.corners.corner_model import CornerProcess
from rpsr.planning.discounts import ROUNDING, infinite_discount
from rpsr.planning.limits import OPERATIONS_A_SECOND, Clock
from rpsr.planning.points.backups import first_plans, lower_at_start
from rpsr.planning.precision import CLOSED, goal_of
from rpsr.planning.reachable.followed import followed
from rpsr.planning.runner import BasePlanner, Run
from rpsr.planning.solution import Solution, Status
from rpsr.planning.value.value_function import action_values

BOUND_SHARE, BLIND_SHARE = 0.6, 0.3  # of the time there is when each of them begins
FIRST = 64  # states through which a rule is followed at first; then twice as many, and so on
NUMBERS = 2**21  # in the vectors of a controller: no more states are followed, but for the first
FIRST_NUMBERS, MOST_NUMBERS = 2**22, 2**25  # of a controller's vectors and successors


@dataclass(frozen=True)
class BoundPlanner(BasePlanner):
    """Act by an upper bound, and find out what that is worth.

    epsilon: the gap at the start that is good enough, in units of reward or a share of the value
    there (`Relative`); by default 1e-6 of the range of values (see `precision`).
    time_limit in seconds; memory_limit in bytes.
    max_states: how many to follow the bound through, at most.
    """

    max_states: int = 1000

    @abstractmethod
    def bound(self, process: CornerProcess, clock: Clock) -> Floats:
        """Values above the optimal ones of each action at the corners, (A, k)."""

    def plan(self, run: Run) -> Solution:
        """Plan; a `ModelError` where the domain is unknown or the discount is 1."""
        model, clock = run.model, run.clock
        infinite_discount(model)
        if not model.domain.known:
            raise ModelError(
                f"{model.name}: the domain of this {model.kind} model is unknown, and planner "
                f"{self.name} needs it for its upper bound: use pbvi"
            )
        if self.max_states < 1:
            raise InputError(f"max_states: read {self.max_states}, expected at least 1")
        process = run.corners()
        goal = goal_of(self.epsilon, CLOSED, model, process.ahead)
        bound, upper = first_upper(process, clock.share(BOUND_SHARE), self.bound)
        above = above_corners(process, bound)
        plans = blind = first_plans(model, model.start[None], process, clock.share(BLIND_SHARE))
        lower, met = lower_at_start(model, process, blind, model.start[None]), 0

        def rule(states: Floats) -> Ints:
            values = action_values(model, states, above, clock)
            best = values.max(axis=1, keepdims=True)
            near = 4 * ROUNDING * np.abs(values).max(axis=1, keepdims=True)
            return (values >= best - near).argmax(axis=1)

        def follow() -> Status:
            nonlocal plans, lower, met
            most = min(self.max_states, max(FIRST, NUMBERS // model.dimension))
            row = model.dimension + len(model.observations)
            most = min(most, max(1, MOST_NUMBERS // row))
            limit = min(FIRST, most, max(1, FIRST_NUMBERS // row))
            while True:
                began = clock.seconds
                made, graph = followed(model, rule, blind, limit, clock=clock)
                met = len(graph.states)
                worth = lower_at_start(model, process, made, model.start[None])
                if worth > lower:
                    plans, lower = made, worth
                run.report(1, lower, upper, vectors=len(plans), points=met)
                if max(upper - lower, 0.0) <= goal.at(lower, upper):
                    return Status.SOLVED
                if graph.stopped not in (None, Status.SIZE):
                    return graph.stopped
                if graph.stopped is None or limit >= most:
                    return Status.SETTLED
                clock.check()
                clock.foresee(2 * (clock.seconds - began) * OPERATIONS_A_SECOND)  # twice as long
                limit = min(2 * limit, most)

        status = run.attempt(follow)
        value = float(plans.at(model.start[None])[0])
        return run.solution(
            status, plans, (lower, upper), value=value, iterations=1, states=met, bound=above
        )


@dataclass(frozen=True)
class QMDP(BoundPlanner):
    """Plan as if the state were seen after one step.

    epsilon: the gap at the start that is good enough, in units of reward or a share of the value
    there (`Relative`); by default 1e-6 of the range of values (see `precision`).
    time_limit in seconds; memory_limit in bytes.
    max_states: how many to follow the bound through, at most.
    """

    name = "qmdp"

    def bound(self, process: CornerProcess, clock: Clock) -> Floats:
        """As if the state were seen from the next step on, (A, k)."""
        return qmdp_values(process, clock=clock)


@dataclass(frozen=True)
class FastInformedBound(BoundPlanner):
    """Plan as if the state were seen after every step but the first observation counted.

    epsilon: the gap at the start that is good enough, in units of reward or a share of the value
    there (`Relative`); by default 1e-6 of the range of values (see `precision`).
    time_limit in seconds; memory_limit in bytes.
    max_states: how many to follow the bound through, at most.
    """

    name = "fib"

    def bound(self, process: CornerProcess, clock: Clock) -> Floats:
        """As if it were seen one step later than that, (A, k)."""
        return fast_informed_values(process, clock=clock)
