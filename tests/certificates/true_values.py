"""What is true of a model, apart from the verifier and the planners: optimal values and ranks.

The oracle of the differential run brackets the values of beliefs, to some 25 digits where beliefs
recur. An action whose highest value is below the lowest of another cannot be optimal. If the other
actions lead to finitely many beliefs, the equations of these are solved in fractions, and the
optimal value is known exactly. Otherwise the bracket is what is known.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from tests.differential.finite import ONE, Finite
from tests.differential.models import Exact
from tests.differential.oracle import SLACK, Graph, Oracle, explored
from tests.differential.spans import Spans
from tests.predictive.rationals import process

from rpsr.errors import ModelError
from rpsr.models.pomdp import POMDP

FOLLOWED = (100, 1500)  # beliefs of the bracket, tried in turn
MOST = 150  # beliefs whose equations are solved in fractions

Belief = tuple[Fraction, ...]


def meant(pomdp: POMDP, discount: Fraction | None = None) -> Exact:
    """A model of which all numbers are fractions; a `ModelError` if it is known only in floats."""
    if not pomdp.exact:
        raise ModelError(f"{pomdp.name}: is known only in floats")
    states, actions = range(len(pomdp.states)), range(len(pomdp.actions))
    none = Fraction(0)
    chance = [
        [[[row.get(t, none) for t in states] for row in rows] for rows in by_observation]
        for by_observation in process(pomdp)
    ]
    rewards = [[Fraction(reward) for reward in row] for row in pomdp.exact_rewards()]
    start = pomdp.record.start.fractions(0)
    known = pomdp.record.discount if discount is None else discount
    known = Fraction(1) if known is None else known
    raw = max(abs(rewards[s][a]) for s in states for a in actions)
    return Exact(chance, rewards, [start.get(s, none) for s in states], known, raw)


class Interval(NamedTuple):
    """Numbers between which a value lies; equal if it is known exactly."""

    lower: Fraction
    upper: Fraction


# ---- optimal values


def optimal_value(pomdp: POMDP, horizon: int | None = None) -> Interval:
    """The optimal value at the start, with a discount below 1; otherwise, a `ModelError`.

    horizon: the value of a number of steps without a discount, exactly.
    """
    if horizon is not None:
        value = _of_steps(meant(pomdp, Fraction(1)), horizon)
        return Interval(value, value)
    exact = meant(pomdp)
    if exact.discount == 1:
        raise ModelError(f"{pomdp.name}: without a discount, only values of some steps are known")
    for limit in FOLLOWED:
        value = _solved_in_fractions(exact, *_possibly_best(exact, limit))
        if value is not None:
            return Interval(value, value)
    return Interval(*Oracle(exact).optimal(FOLLOWED[-1]))


def _followers(exact: Exact, belief: Belief, a: int) -> list[tuple[Fraction, Belief]]:
    """The chance of each observation that is possible, and the belief after it."""
    followers: list[tuple[Fraction, Belief]] = []
    for rows in exact.chance[a]:
        mass = [Fraction(0)] * len(belief)
        for share, row in zip(belief, rows, strict=True):
            if share:
                mass = [x + share * chance for x, chance in zip(mass, row, strict=True)]
        if total := sum(mass):
            followers.append((total, tuple(x / total for x in mass)))
    return followers


def _earned(exact: Exact, belief: Belief, a: int) -> Fraction:
    earned = (share * row[a] for share, row in zip(belief, exact.rewards, strict=True))
    return sum(earned, Fraction(0))


def _of_steps(exact: Exact, horizon: int) -> Fraction:
    known: dict[tuple[Belief, int], Fraction] = {}

    def value(belief: Belief, left: int) -> Fraction:
        if not left:
            return Fraction(0)
        if (belief, left) not in known:
            known[belief, left] = max(
                _earned(exact, belief, a)
                + sum(
                    chance * value(after, left - 1)
                    for chance, after in _followers(exact, belief, a)
                )
                for a in range(len(exact.rewards[0]))
            )
        return known[belief, left]

    return value(tuple(exact.start), horizon)


def _possibly_best(exact: Exact, limit: int) -> tuple[Graph, dict[int, list[int]]]:
    """Beliefs by number, and the actions that the bracket does not exclude at those followed."""
    oracle = Oracle(exact)
    graph = Graph(oracle.process)
    nodes = explored(graph, limit, lambda _: range(oracle.process.actions))
    problem = Finite(nodes, exact.discount)
    low, off_low = problem.optimum([oracle.at_least(b) for b in graph.beliefs])
    high, off_high = problem.optimum([oracle.at_most(b) for b in graph.beliefs])
    spare = off_low + off_high + 4 + int(4 * SLACK * oracle.steps**2 * ONE)
    best: dict[int, list[int]] = {}
    for number, choices in enumerate(nodes):
        if choices:
            most = [problem.ahead_of(choice, high) for choice in choices]
            best[number] = [a for a, value in enumerate(most) if value + spare >= low[number]]
    return graph, best


def _solved_in_fractions(exact: Exact, graph: Graph, best: dict[int, list[int]]) -> Fraction | None:
    """The optimal value at the start; None if too many beliefs matter."""
    order: dict[Belief, int] = {tuple(exact.start): 0}  # and their numbers in the graph
    choices: list[list[tuple[Fraction, list[tuple[Fraction, Belief]]]]] = []
    while len(choices) < len(order):
        belief, number = list(order.items())[len(choices)]
        if number not in best or len(order) > MOST:
            return None
        mine: list[tuple[Fraction, list[tuple[Fraction, Belief]]]] = []
        for a in best[number]:
            followers = _followers(exact, belief, a)
            numbers = [after for _, after in graph.choice(number, a).edges]
            assert len(numbers) == len(followers)
            for (_, after), there in zip(followers, numbers, strict=True):
                order.setdefault(after, there)
            mine.append((_earned(exact, belief, a), followers))
        choices.append(mine)
    place = {belief: i for i, belief in enumerate(order)}
    chosen = [0] * len(choices)
    while True:  # each round is better, and there are finitely many policies
        rows, earned = [], []
        for i, mine in enumerate(choices):
            reward, followers = mine[chosen[i]]
            row = {i: Fraction(1)}
            for chance, after in followers:
                row[place[after]] = row.get(place[after], Fraction(0)) - exact.discount * chance
            rows.append(row)
            earned.append(reward)
        values = solved(rows, earned)
        worth = [
            [
                reward + exact.discount * sum(chance * values[place[after]] for chance, after in f)
                for reward, f in mine
            ]
            for mine in choices
        ]
        better = [
            max(range(len(mine)), key=mine.__getitem__) if max(mine) > value else kept
            for mine, value, kept in zip(worth, values, chosen, strict=True)
        ]
        if better == chosen:
            return values[0]
        chosen = better


def solved(rows: list[dict[int, Fraction]], right: list[Fraction]) -> list[Fraction]:
    """The solution of I - discount P: no pivot is 0. The arguments are changed."""
    for i, row in enumerate(rows):
        for j in range(i + 1, len(rows)):
            factor = rows[j].pop(i, None)
            if factor:
                factor /= row[i]
                for column, entry in row.items():
                    if column > i:
                        rows[j][column] = rows[j].get(column, Fraction(0)) - factor * entry
                right[j] -= factor * right[i]
    values = [Fraction(0)] * len(rows)
    for i in reversed(range(len(rows))):
        later = (entry * values[column] for column, entry in rows[i].items() if column > i)
        values[i] = (right[i] - sum(later, Fraction(0))) / rows[i][i]
    return values


# ---- controllers


def controller_value(exact: Exact, line: dict[str, Any]) -> Fraction:
    """The value of a controller that a certificate describes, over the pairs that can occur."""
    pairs = [(line["first"], s) for s, chance in enumerate(exact.start) if chance]
    place = {pair: i for i, pair in enumerate(pairs)}
    rows: list[dict[int, Fraction]] = []
    earned: list[Fraction] = []
    for i, (k, s) in enumerate(pairs):  # grows as pairs are met
        a = line["actions"][k]
        row = {i: Fraction(1)}
        for after, table in zip(line["successors"][k], exact.chance[a], strict=True):
            for t, chance in enumerate(table[s]):
                if chance:
                    if (after, t) not in place:
                        place[after, t] = len(pairs)
                        pairs.append((after, t))
                    there = place[after, t]
                    row[there] = row.get(there, Fraction(0)) - exact.discount * chance
        rows.append(row)
        earned.append(exact.rewards[s][a])
    values = solved(rows, earned)
    begin = [chance for chance in exact.start if chance]
    return sum((c * v for c, v in zip(begin, values, strict=False)), Fraction(0))


# ---- ranks


class Ranks(NamedTuple):
    """The ranks of the PSR and the R-PSR, and whether the PSR is accurate."""

    psr: int
    rpsr: int
    accurate: bool


def ranks_of(pomdp: POMDP) -> Ranks:
    """By elimination in fractions."""
    spans = Spans(meant(pomdp))
    return Ranks(len(spans.tests), len(spans.intents), spans.d_inf == 0)
