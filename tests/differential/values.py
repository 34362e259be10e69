"""What given policies are worth, by the oracle's own arithmetic.

A controller is a finite problem of pairs (node, state). Any other policy is asked what it does: for
a horizon along every history, else at the beliefs that it leads to, likeliest first, up to a number
of them. Beyond, it is worth at most the optimal value.
"""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction

import numpy as np
from tests.differential.finite import BITS, ONE, Choice, Finite
from tests.differential.oracle import BEGUN, FINE, Belief, Bracket, Came, Graph, Oracle, explored

from rpsr.errors import ImpossibleObservation
from rpsr.planning import FiniteStateController, Policy

DIGITS = 6  # of what a policy remembers: its filtered state differs by rounding
LARGEST = 500  # pairs of a node and a state: a linear system of that size takes milliseconds


def controller_value(oracle: Oracle, controller: FiniteStateController) -> Bracket | None:
    """The value of a controller, of whose nodes only those that can be reached count."""
    process = oracle.process
    order = [(controller.first, s) for s in range(process.states)]
    number = {pair: i for i, pair in enumerate(order)}
    pairs: list[list[Choice]] = []
    for node, s in order:  # grows as pairs are met
        action = int(controller.actions[node])
        edges = []
        for o, rows in enumerate(process.moves[action]):
            for t, chance in rows[s]:
                pair = controller.after(node, o), t
                if pair not in number:
                    number[pair] = len(order)
                    order.append(pair)
                edges.append((chance, number[pair]))
        pairs.append([Choice(process.rewards[s][action], edges)])
        if len(order) > LARGEST:
            return None
    values, off = Finite(pairs, process.discount).of([0] * len(pairs), [])
    value = sum(b * v for b, v in zip(process.start, values, strict=False)) >> FINE
    return process.bracket(value - off - 1, value + off + 1, oracle.steps)


def horizon_value(oracle: Oracle, policy: Policy, steps: int) -> Bracket:
    """The value of a number of steps of a policy, along every history."""
    process, discount = oracle.process, oracle.process.discount

    def from_here(belief: Belief, policy: Policy | None, left: int) -> int:
        if left == 0:
            return 0
        if policy is None:
            return left * ONE  # the most that could be earned
        a, after = policy.act(), 0
        for o, chance, following in process.after(belief, a):
            following_policy = _after(policy, a, o) if left > 1 else policy
            after += chance * from_here(following, following_policy, left - 1)
        ahead = (after >> BITS) * discount.numerator // discount.denominator
        return process.earns(belief, a) + ahead

    begun = policy.copy()
    begun.reset()
    value = from_here(process.start, begun, steps)
    return process.bracket(value - 4 * steps, value + 4 * steps, Fraction(steps + 1))


def followed_value(oracle: Oracle, policy: Policy, limit: int) -> Bracket:
    """The value of a policy that is asked for its actions, at a number of beliefs at most.

    Equal beliefs are one where the policy remembers the same, to the digits that filters carry.
    """
    begun = policy.copy()
    begun.reset()
    met: dict[Came, Policy | None] = {BEGUN: begun}

    def remembered(came: Came) -> Hashable:
        before, action, observation = came
        if came not in met:
            met[came] = _after(met[graph.came[before]], action, observation)
        there = met[came]
        return None if there is None else tuple(np.round(there.memory, DIGITS).tolist())

    def actions(n: int) -> list[int]:
        there = met[graph.came[n]]
        return [] if there is None else [there.act()]

    graph = Graph(oracle.process, remembered=remembered)
    nodes = explored(graph, limit, actions)
    problem = Finite(nodes, oracle.process.discount)
    chosen = [0] * len(nodes)
    high, off_high = problem.of(chosen, [oracle.at_most(belief) for belief in graph.beliefs])
    worst = -int(oracle.steps * ONE) - 1
    low, off_low = problem.of(chosen, [worst] * len(nodes))
    return oracle.process.bracket(low[0] - off_low, high[0] + off_high, oracle.steps)


def _after(policy: Policy | None, action: int, observation: int) -> Policy | None:
    """The policy one step later; None where its filter takes what was seen for impossible."""
    if policy is None:
        return None
    following = policy.copy()
    try:
        following.update(action, observation)
    except ImpossibleObservation:
        return None
    return following
