"""Planners `qmdp` and `fib`: upper bounds as value functions, and what acting by them is worth.

Both are bounds at the corners of the domain, one vector an action (see `bounds`): QMDP as if the
state were seen from the next step on, the fast-informed bound with one step less of that. Where a
model has fewer dimensions than corners, a bound at the corners need not be linear in its states;
then the nearest linear function is raised until it is above at every corner.

The policy looks one step ahead to the bound. It is followed from the start, through up to so many
states; where it is followed no further it is taken to go on with the best blind policy. What that
is worth is a linear system, and, with what merging states may hide subtracted as in `reachable`, a
lower bound on the optimal value. On problems where information must be gathered the policy may be
poor, and the lower bound then says so.

References: M. L. Littman, A. R. Cassandra, L. P. Kaelbling, "Learning policies for partially
observable environments: scaling up", ICML 1995, for QMDP; M. Hauskrecht, "Value-function
approximations for partially observable Markov decision processes", Journal of Artificial
Intelligence Research 13 (2000), for the fast-informed bound.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from rpsr.errors import InputError, ModelError
from rpsr.io.records import Bools, Floats, Ints
from rpsr.models.domain import Unknown
from rpsr.models.linear import LinearModel
from rpsr.planning.bounds import (
    blind_vectors,
    fast_informed_values,
    qmdp_values,
    upper_at_start,
)
from rpsr.planning.discounted import solve_discounted
from rpsr.planning.finite import ROUNDING, check_epsilon, infinite_discount
from rpsr.planning.graph import explore
from rpsr.planning.limits import Clock, LimitReached
from rpsr.planning.policies import action_values
from rpsr.planning.process import CornerProcess, corner_process
from rpsr.planning.reachable import hidden, value_bounds
from rpsr.planning.solution import Progress, ProgressRow, Solution, Status

BOUND_SHARE, BLIND_SHARE = 0.6, 0.3  # of the time there is when each of them begins
FIRST = 64  # states through which a policy is followed at first; then twice as many, and so on
_ULP = float(np.finfo(float).eps)


@dataclass(frozen=True)
class BoundPlanner(ABC):
    """Act by an upper bound, and find out what that is worth.

    epsilon: the gap at the start that is good enough. states: how many to follow the policy
    through. time_limit in seconds; memory_limit in bytes.
    """

    epsilon: float = 1e-3
    states: int = 1000
    time_limit: float | None = None
    memory_limit: int | None = None

    @property
    @abstractmethod
    def name(self) -> str:
        """The planner's name on the command line."""

    @abstractmethod
    def bound(self, process: CornerProcess, clock: Clock) -> Floats:
        """Values above the optimal ones of each action at the corners, (A, k)."""

    def solve(self, model: LinearModel, progress: Progress) -> Solution:
        """Plan; a `ModelError` where the domain is unknown or the discount is 1."""
        infinite_discount(model)
        if isinstance(model.domain, Unknown):
            raise ModelError(
                f"{model.name}: planner {self.name} bounds values from above at the corners of the "
                f"model's domain, and the domain of this {model.kind} model is unknown: use pbvi"
            )
        if self.states < 1:
            raise InputError(f"states: read {self.states}, expected at least 1")
        check_epsilon(self.epsilon)
        clock = Clock(progress, self.time_limit, self.memory_limit)
        process = corner_process(model)
        clock.hold_model(process.nbytes)
        bound = self.bound(process, clock.share(BOUND_SHARE))
        vectors = _above(process, bound)
        blind, _ = blind_vectors(model, process, clock.share(BLIND_SHARE))
        upper = upper_at_start(process, bound)
        lower, met = float((blind @ model.start).max()), 0

        def choose(states: Floats) -> Ints:
            values = action_values(model, states, vectors, clock)
            best = values.max(axis=1, keepdims=True)
            near = 4 * ROUNDING * np.abs(values).max(axis=1, keepdims=True)
            return (values >= best - near).argmax(axis=1)

        def report() -> None:
            gap = max(upper - lower, 0.0)
            clock.report(
                ProgressRow(clock.seconds, 1, lower, upper, gap, vectors=len(bound), points=met)
            )

        status, limit = Status.SETTLED, min(FIRST, self.states)
        try:
            while True:
                worth, met, stopped = _followed(model, choose, blind, limit, clock)
                lower = max(lower, worth)
                report()
                if upper - lower <= self.epsilon:
                    status = Status.SOLVED
                    break
                if stopped not in (None, Status.SIZE):
                    raise LimitReached(stopped)
                if stopped is None or limit >= self.states:
                    break
                clock.check()
                limit = min(2 * limit, self.states)
        except LimitReached as reached:
            status = reached.status
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        return Solution(
            planner=self.name,
            model=model,
            status=status,
            value=lower,
            lower=lower,
            upper=max(upper, lower),
            residual=None,
            epsilon=None,
            vectors=vectors,
            actions=np.arange(len(vectors)),
            successors=np.full((len(vectors), len(model.observations)), -1, dtype=np.int64),
            iterations=1,
            seconds=clock.seconds,
            trace=tuple(clock.rows),
            extras={"states": met},
        )


@dataclass(frozen=True)
class QMDP(BoundPlanner):
    """Plan as if the state were seen after one step.

    epsilon: the gap at the start that is good enough. states: how many to follow the policy
    through. time_limit in seconds; memory_limit in bytes.
    """

    @property
    def name(self) -> str:
        """The planner's name on the command line."""
        return "qmdp"

    def bound(self, process: CornerProcess, clock: Clock) -> Floats:
        """As if the state were seen from the next step on, (A, k)."""
        return qmdp_values(process, clock=clock)


@dataclass(frozen=True)
class FastInformedBound(BoundPlanner):
    """Plan as if the state were seen after every step but the first observation counted.

    epsilon: the gap at the start that is good enough. states: how many to follow the policy
    through. time_limit in seconds; memory_limit in bytes.
    """

    @property
    def name(self) -> str:
        """The planner's name on the command line."""
        return "fib"

    def bound(self, process: CornerProcess, clock: Clock) -> Floats:
        """As if it were seen one step later than that, (A, k)."""
        return fast_informed_values(process, clock=clock)


def _above(process: CornerProcess, bound: Floats) -> Floats:
    """Linear functions of the model's states, (A, n), above a bound at every corner, (A, k)."""
    vectors = process.lift(bound)
    short = np.maximum((bound - process.lower(vectors)).max(axis=1), 0.0)
    return vectors + short[:, None] * process.model.normalizer


def _followed(
    model: LinearModel,
    choose: Callable[[Floats], Ints],
    blind: Floats,
    limit: int,
    clock: Clock,
) -> tuple[float, int, Status | None]:
    """What a policy is worth at the start at least, in how many states, and what stopped it.

    choose: actions (B,) at states (B, n). blind (A, n): values of what is done beyond the limit.
    Nothing stops it where the states close.
    """

    def allowed(states: Floats) -> Bools:
        return np.arange(len(model.actions)) == choose(states)[:, None]

    graph = explore(
        model,
        limit=limit,
        time_limit=clock.seconds_left,
        memory_limit=clock.memory_limit,
        held=clock.held,
        allowed=allowed,
        partial=True,
    )
    discount, rows = model.discount or 0.0, np.arange(len(graph.states))
    actions = choose(graph.states)
    moves = sp.csr_array(graph.transitions()[actions * len(rows) + rows])
    paid = hidden(graph, value_bounds(model, 1 / (1 - discount)))
    assert paid is not None, "the domain is known"
    earned = (graph.states @ model.rewards - discount * paid)[rows, actions]
    earned = np.where(graph.open, (graph.states @ blind.T).max(axis=1), earned)
    values = solve_discounted(discount * moves, earned, clock)
    excess = float((values - earned - discount * (moves @ values)).max())  # where time was short
    scale = float(max(np.abs(values).max(), np.abs(earned).max()))
    rounding = 8 * (model.dimension + len(model.observations) + 2) * _ULP * scale / (1 - discount)
    worth = float(values[0]) - max(excess, 0.0) / (1 - discount) - rounding
    return worth, len(rows), graph.stopped
