"""Planners `qmdp` and `fib`: upper bounds as value functions, and the value of acting by them.

Both are bounds at the corners of the domain, one vector per action (see `cheap_bounds`). QMDP
assumes that the state is observed from the next step on, the fast-informed bound one step later. If
a model has fewer dimensions than corners, a bound at the corners need not be linear in its states.
Then the nearest linear function is raised until it is a bound at every corner.

The policy looks one step ahead with the bound. It is explored from the start, up to a number of
states, and continues with the best blind policy beyond them (see `rule_controller`). This is a
finite-state controller, and so is the best blind policy alone. The better of the two is returned:
its vectors, its value and, with rounding included, the lower bound. Where information must be
gathered, acting by the bound may be poor, which the lower bound then shows.
`Solution.extras["bound"]` has the vectors of the upper bound, (A, n).

References: M. L. Littman, A. R. Cassandra, L. P. Kaelbling, "Learning policies for partially
observable environments: scaling up", ICML 1995, for QMDP; M. Hauskrecht, "Value-function
approximations for partially observable Markov decision processes", Journal of Artificial
Intelligence Research 13 (2000), for the fast-informed bound.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from rpsr.errors import InputError, ModelError
from rpsr.io.records import Floats, Ints
from rpsr.planning.convergence import infinite_discount
from rpsr.planning.corners.cheap_bounds import (
    above_corners,
    fast_informed_values,
    initial_upper_bound,
    qmdp_values,
)
from rpsr.planning.corners.corner_model import CornerProcess
from rpsr.planning.limits import OPERATIONS_A_SECOND, Clock
from rpsr.planning.points.backups import first_plans, lower_at_start
from rpsr.planning.precision import CLOSED, goal_of
from rpsr.planning.reachable.rule_controller import followed
from rpsr.planning.runner import BasePlanner, Run
from rpsr.planning.solution import Solution, Status
from rpsr.planning.value.policies import lowest_best
from rpsr.planning.value.value_function import action_values

BOUND_SHARE, BLIND_SHARE = 0.6, 0.3  # of the time left when each begins
FIRST = 64  # states explored at first; then twice as many, and so on
NUMBERS = 2**21  # in the vectors of a controller: a limit on its states
FIRST_NUMBERS, MOST_NUMBERS = 2**22, 2**25  # of a controller's vectors and successors


@dataclass(frozen=True)
class BoundPlanner(BasePlanner):
    """Act by an upper bound, and evaluate that policy.

    epsilon: the gap at the start to reach, in units of reward or as a share of the value there
    (`Relative`); by default 1e-6 of the range of values (see `precision`).
    time_limit: in seconds. memory_limit: in bytes.
    max_states: the largest number of states to explore.
    """

    max_states: int = 1000

    @abstractmethod
    def bound(self, process: CornerProcess, seen: Floats, clock: Clock) -> Floats:
        """Upper bounds on the optimal Q at the corners, (A, k); seen (k,): the MDP's values."""

    def plan(self, run: Run) -> Solution:
        """Plan; a `ModelError` where the domain is unknown or the discount is 1."""
        model, clock = run.model, run.clock
        infinite_discount(model)
        if not model.domain.known:
            raise ModelError(
                f"{model.name}: the valid states of this {model.kind} model are unknown, and "
                f"planner {self.name} needs them for its upper bound: use pbvi"
            )
        if self.max_states < 1:
            raise InputError(f"max_states: read {self.max_states}, expected at least 1")
        process = run.corners()
        goal = goal_of(self.epsilon, CLOSED, model, process.ahead)
        bound, upper = initial_upper_bound(process, clock.share(BOUND_SHARE), self.bound)
        above = above_corners(process, bound)
        blind, lower = first_plans(model, model.start[None], process, clock.share(BLIND_SHARE))
        plans, met = blind, 0

        def rule(states: Floats) -> Ints:
            return lowest_best(action_values(model, states, above, clock), None)

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

        def finished(status: Status) -> Solution:
            value = float(plans.at(model.start[None])[0])
            return run.solution(
                status, plans, (lower, upper), value=value, iterations=1, states=met, bound=above
            )

        run.offer(lambda: finished(Status.INTERRUPTED))
        return finished(run.attempt(follow))


@dataclass(frozen=True)
class QMDP(BoundPlanner):
    """QMDP: plan as if the state were observed after one step.

    epsilon: the gap at the start to reach, in units of reward or as a share of the value there
    (`Relative`); by default 1e-6 of the range of values (see `precision`).
    time_limit: in seconds. memory_limit: in bytes.
    max_states: the largest number of states to explore.
    """

    name = "qmdp"

    def bound(self, process: CornerProcess, seen: Floats, clock: Clock) -> Floats:
        """Q if the state is observed from the next step on, (A, k)."""
        return qmdp_values(process, seen, clock)


@dataclass(frozen=True)
class FastInformedBound(BoundPlanner):
    """Fast-informed bound: plan as if each state were observed one step later.

    epsilon: the gap at the start to reach, in units of reward or as a share of the value there
    (`Relative`); by default 1e-6 of the range of values (see `precision`).
    time_limit: in seconds. memory_limit: in bytes.
    max_states: the largest number of states to explore.
    """

    name = "fib"

    def bound(self, process: CornerProcess, seen: Floats, clock: Clock) -> Floats:
        """Q if the state is observed one step later than in QMDP, (A, k)."""
        return fast_informed_values(process, seen, clock)
