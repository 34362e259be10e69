"""The range of values, in another model's task, of all policies that are optimal for a model.

A policy is optimal for a model if and only if in every state it reaches it takes an action with the
best one-step value. So on the graph of reachable states, restricted to those actions, the least and
the greatest value of the other model's rewards are two finite decision problems. The range matters
for PSRs: if a PSR loses all rewards, every policy is optimal for it.

States are pairs, one of each model, filtered from one history (see `model_sums`), since the other's
rewards may depend on information that the first model loses. Unexplored states have between the
least and the greatest possible value, or, if given, the optimal values of the other's rewards and
of their negatives: the results are then bounds. An action counts as best within 4 epsilon, where
epsilon is the certified error of the given solution.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rpsr.errors import ModelError
from rpsr.io.records import Bools, Floats
from rpsr.models.as_model import as_linear
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.planning.comparing.model_sums import direct_sum, second_rewards
from rpsr.planning.convergence import ROUNDING, TIED, infinite_discount
from rpsr.planning.limits import Clock
from rpsr.planning.reachable.plans import hidden, value_bounds
from rpsr.planning.reachable.reachable_graph import LIMIT, TOLERANCE, ReachableGraph, explore
from rpsr.planning.solution import Solution, silent
from rpsr.planning.value.value_function import action_values

_EXACT = 1e-9  # of the scale of values


@dataclass(frozen=True)
class OptimalRange:
    """Bounds (low, high) on the least and on the greatest value over optimal policies.

    states: the number of pairs of states explored, one of each model. complete: whether no pair is
    left.
    """

    least: tuple[float, float]
    greatest: tuple[float, float]
    states: int
    complete: bool

    @property
    def exact(self) -> bool:
        """Whether both ends are known up to rounding."""
        scale = max(1.0, *map(abs, (*self.least, *self.greatest)))
        widths = (high - low for low, high in (self.least, self.greatest))
        return max(widths) <= _EXACT * scale

    def contains(self, value: float, tolerance: float = 0.0) -> bool:
        """Whether some optimal policy may have this value."""
        return self.least[0] - tolerance <= value <= self.greatest[1] + tolerance


def optimal_range(
    model: POMDP | LinearModel,
    others: POMDP | LinearModel,
    solution: Solution | None = None,
    *,
    extremes: tuple[Solution, Solution] | None = None,
    limit: int = LIMIT,
    time_limit: float | None = None,
    tolerance: float = TOLERANCE,
) -> OptimalRange:
    """The range of `others`' value over the policies that are optimal for `model`.

    solution: a certified infinite-horizon solution of `model`. Without one, there must be no more
    reachable pairs than the limit, else a `ModelError`. extremes: certified solutions of `others`
    and of `others` with negated rewards, which tighten the bounds at unexplored pairs.
    """
    model, others = as_linear(model), as_linear(others, "others")
    discount = infinite_discount(model)
    pair, clock = direct_sum(model, others), Clock(silent, time_limit)
    if solution is None:
        graph = explore(pair, limit=limit, clock=clock, tolerance=tolerance)
        best = _best_on(graph, discount)
    else:
        if solution.horizon is not None or solution.model.dimension != model.dimension:
            horizon = "infinite" if solution.horizon is None else solution.horizon
            raise ModelError(
                f"solution: read a plan with horizon {horizon} for a model of dimension "
                f"{solution.model.dimension}, expected an infinite-horizon plan for `model`, of "
                f"dimension {model.dimension}"
            )
        if solution.epsilon is None:
            raise ModelError(
                "solution: read a plan without a proven epsilon, which leaves the optimal actions "
                "unknown; plan with vi"
            )
        judge = _Judge(model, solution)
        graph = explore(
            pair,
            limit=limit,
            clock=clock,
            tolerance=tolerance,
            allowed=judge.best,
            partial=True,
        )
        best = judge.best(graph.states)
    bounds = value_bounds(others, 1 / (1 - discount))
    paid = hidden(graph, bounds)
    if bounds is None or paid is None:
        raise ModelError(
            f"the valid states of {others.name} are unknown, so its values cannot be bounded; "
            "compare with a POMDP, its PSR or its R-PSR"
        )
    rewards = graph.states @ second_rewards(model, others)
    ends = _Ends(graph, rewards, best, paid, discount)
    low, high = _unexplored(graph, bounds, extremes)
    return OptimalRange(
        least=(-ends.most(-1, -low), -ends.most(-1, -high, pay=-1)),
        greatest=(ends.most(1, low, pay=-1), ends.most(1, high)),
        states=len(graph.states),
        complete=not graph.open.any(),
    )


def _unexplored(
    graph: ReachableGraph, bounds: tuple[float, float], extremes: tuple[Solution, Solution] | None
) -> tuple[Floats, Floats]:
    """The least and the greatest value of each unexplored state by the other rewards."""
    beyond = graph.states[graph.open]
    low, high = (np.full(len(beyond), bound) for bound in bounds)
    if extremes is None or not len(beyond):
        return low, high
    tops: list[Floats] = []
    for solution in extremes:
        if solution.epsilon is None or solution.upper is None:
            raise ModelError(
                "extremes: expected plans with a proven epsilon and an upper bound; plan with vi"
            )
        states = beyond[:, -solution.model.dimension :]
        values = action_values(solution.model, states, solution.vectors).max(axis=1)
        tops.append(values + solution.epsilon)
    return np.maximum(low, -tops[1]), np.minimum(high, tops[0])


@dataclass(frozen=True)
class _Judge:
    """Which actions are best, by a certified value function."""

    model: LinearModel
    solution: Solution

    def best(self, pairs: Floats) -> Bools:
        states = pairs[:, : self.model.dimension]
        values = action_values(self.model, states, self.solution.vectors)
        rounding = ROUNDING * max(float(np.finfo(float).tiny), float(np.abs(values).max()))
        assert self.solution.epsilon is not None, "uncertified solutions are refused before"
        slack = 4 * max(self.solution.epsilon, rounding)
        return values >= values.max(axis=1, keepdims=True) - slack


def _best_on(graph: ReachableGraph, discount: float) -> Bools:
    """Which actions are best for the graph's own rewards, (N, A)."""
    rewards = graph.states @ graph.model.rewards
    problem = graph.problem(rewards, discount)
    values, _ = problem.optimum()
    choices = problem.action_values(values)
    slack = TIED / (1 - discount) * float(np.abs(values).max())
    return choices >= choices.max(axis=1, keepdims=True) - slack


@dataclass(frozen=True, eq=False)
class _Ends:
    graph: ReachableGraph
    rewards: Floats
    best: Bools
    paid: Floats
    discount: float

    def most(self, sign: int, unexplored: Floats, pay: int = 1) -> float:
        """The largest value of sign * rewards at the start, given values of unexplored states."""
        graph = self.graph
        rewards = sign * self.rewards + pay * self.discount * self.paid
        rewards[graph.open] = unexplored[:, None]  # without edges, so these are their values
        problem = graph.problem(rewards, self.discount, self.best)
        values, _ = problem.optimum()
        missed = (problem.action_values(values).max(axis=1) - values).max()
        slack = max(0.0, float(missed)) / (1 - self.discount)
        return float(values[0]) + pay * slack
