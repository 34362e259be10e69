"""The reachable beliefs in exact arithmetic, and a plan on them without a discount.

Without a discount an error of one step may add up without limit, above all in loops of beliefs. So
beliefs are computed in integers (`exact_steps`), and two are one node only if they are equal. If
finitely many are reachable, they are the states of a decision problem that is observed, whose upper
bound is that of `undiscounted_bounds`. The lower bound is that of its best policy (see
`ending_policies`), one node of a controller per belief.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import inf

import numpy as np

from rpsr.domains.rules import tabulate
from rpsr.io.records import Floats, Ints, Record, ratios
from rpsr.models.expectations import exact_expectations
from rpsr.models.linear import LinearModel
from rpsr.planning.corners.corner_model import corner_process
from rpsr.planning.corners.undiscounted_bounds import undiscounted_bounds
from rpsr.planning.exact_steps import Belief, ExactSteps
from rpsr.planning.limits import Clock, LimitReached
from rpsr.planning.reachable.ending_policies import best_policy
from rpsr.planning.reachable.plans import Plan
from rpsr.planning.solution import Status
from rpsr.planning.value.controllers import FiniteStateController
from rpsr.planning.value.value_function import ValueFunction

DREADFUL = 1e6  # times the largest value: stands for an infinite cost, where none of it is met


@dataclass(frozen=True, eq=False)
class ExactBeliefGraph:
    """All reachable beliefs, the start first, and the outcomes of every action there.

    outcomes[i][a]: by observation, the next belief and its probability.
    """

    model: LinearModel
    beliefs: list[Belief]
    outcomes: list[list[dict[int, tuple[int, Fraction]]]]


def explore_exactly(
    model: LinearModel, limit: int, clock: Clock, work: float = inf
) -> ExactBeliefGraph | Status:
    """The graph, or why it is not complete: too many beliefs, weights too long, or no time left.

    model: the belief model of an exact POMDP. work: the largest number of pairs of an action and a
    state of a belief to look at.
    """
    assert model.record is not None
    process, n_actions = ExactSteps(model.record), len(model.actions)
    first = process.start()
    if first is None:
        return Status.SIZE
    beliefs, place = [first], {first: 0}
    outcomes: list[list[dict[int, tuple[int, Fraction]]]] = []
    for belief in beliefs:  # grows during the loop
        try:
            clock.check()
        except LimitReached as reached:
            return reached.status
        by_action: list[dict[int, tuple[int, Fraction]]] = []
        for a in range(n_actions):
            followers: dict[int, tuple[int, Fraction]] = {}
            for seen, (after, above, below) in process.steps(belief, a).items():
                if after is None:
                    return Status.SIZE
                if after not in place:
                    place[after] = len(beliefs)
                    beliefs.append(after)
                followers[seen] = place[after], Fraction(above, below)
            by_action.append(followers)
        outcomes.append(by_action)
        work -= n_actions * len(belief[0])
        if len(beliefs) > limit or work < 0:
            return Status.SIZE
    return ExactBeliefGraph(model, beliefs, outcomes)


def plan_exactly(graph: ExactBeliefGraph, clock: Clock) -> Plan:
    """The best policy on the graph; a `ModelError` where sums of rewards are not well defined."""
    model, rewards = graph.model, _rewards(graph)

    def move(i: int, action: str) -> Mapping[int, Fraction]:
        total: dict[int, Fraction] = {}
        for after, chance in graph.outcomes[i][model.actions.index(action)].values():
            total[after] = total.get(after, Fraction(0)) + chance
        return total

    problem = tabulate(
        name=f"{model.name} (reachable beliefs)",
        states=range(len(graph.beliefs)),
        actions=model.actions,
        observations=("any",),
        start={0: 1},
        transition=move,
        emission=lambda a, i: {"any": 1},
        reward=lambda i, a, after, o: rewards[i][model.actions.index(a)],
        discount=1,
    )
    process = corner_process(problem.belief_model())
    known = undiscounted_bounds(process, clock)
    best = best_policy(process, known.most, clock)
    upper = min(float(known.most[:, 0].max()), best.upper)
    met, controller = _controller(graph, best.actions)
    vectors = _finite(controller.vectors(model))
    value = best.lower if not len(met) else float(vectors[0] @ model.start)
    function = ValueFunction(vectors, controller.actions, np.maximum(controller.successors, 0))
    return Plan(value, min(best.lower, upper), upper, upper - best.lower, function)


def _rewards(graph: ExactBeliefGraph) -> list[list[Fraction]]:
    """The expected reward of each action at each belief."""
    model = graph.model
    assert model.record is not None
    table = _state_rewards(model, model.record)
    n_actions, n = len(model.actions), model.dimension
    return [
        [
            sum((w * table[a * n + s] for s, w in zip(*belief, strict=True)), Fraction(0))
            / sum(belief[1])
            for a in range(n_actions)
        ]
        for belief in graph.beliefs
    ]


def _state_rewards(model: LinearModel, record: Record) -> list[Fraction]:
    """R(s, a), row a * S + s: those of the record, or the model's own, which are floats."""
    numerators, denominators = exact_expectations(record)
    own = model.rewards.T.ravel()
    if not np.array_equal(ratios(numerators, denominators), own):
        return [Fraction(reward) for reward in own.tolist()]
    pairs = zip(numerators.tolist(), denominators.tolist(), strict=True)
    return [Fraction(int(above), int(below)) for above, below in pairs]


def _controller(graph: ExactBeliefGraph, actions: Ints) -> tuple[Ints, FiniteStateController]:
    """The beliefs that actions (N,) reach, the start first, and their controller."""
    place, met = {0: 0}, [0]
    for i in met:  # grows during the loop
        for after, _ in graph.outcomes[i][int(actions[i])].values():
            if after not in place:
                place[after] = len(met)
                met.append(after)
    model = graph.model
    successors = np.full((len(met), len(model.observations)), -1, dtype=np.int64)
    for row, i in enumerate(met):
        for seen, (after, _) in graph.outcomes[i][int(actions[i])].items():
            successors[row, seen] = place[after]
    chosen = np.array(met)
    return chosen, FiniteStateController(
        model.actions, model.observations, actions[chosen], successors
    )


def _finite(vectors: Floats) -> Floats:
    """Vectors with a very low value where the sum is infinite, which no belief of the node is."""
    lost = np.isnan(vectors)
    largest = float(np.abs(vectors[~lost]).max(initial=1.0))
    return np.where(lost, -DREADFUL * largest, vectors)
