"""What a model's best policy is worth: a bracket that holds, computed apart from the planners.

Beliefs are followed from the start, the likeliest first, up to a number of them. A belief that is
reached again is one node, so that the bracket closes where beliefs recur. Where it is not followed
any further, a belief is worth at least the best blind policy and at most the fast-informed bound.
That is a finite problem (see `finite`), solved from both sides.

Beliefs are integers over 2**FINE, and those equal up to 2**-COARSE are one node. Values are
Lipschitz in the belief, so all such rounding together shifts a value by less than `slack`, which is
counted: about 1e-26 of the largest value.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction
from functools import cached_property
from heapq import heappop, heappush

from tests.differential.families import Row
from tests.differential.finite import BITS, ONE, Choice, Finite
from tests.differential.models import Exact

FINE, COARSE = 128, 96
SLACK = Fraction(1, 2**88)  # over S * 2**-COARSE for each step, S at most 8
SWEEPS = 12

Belief = tuple[int, ...]
Bracket = tuple[Fraction, Fraction]
Came = tuple[int, int, int]  # from which number, by which action, with which observation
BEGUN: Came = (-1, -1, -1)


class Process:
    """A model in integers, its rewards divided by the largest: what every oracle computes with."""

    def __init__(self, exact: Exact, rewards: list[Row] | None = None) -> None:
        earned = exact.rewards if rewards is None else rewards
        self.unit = max(abs(r) for row in earned for r in row) or Fraction(1)
        self.discount = exact.discount
        self.rewards = [[round(r / self.unit * ONE) for r in row] for row in earned]
        self.moves = [
            [
                [[(t, round(p * ONE)) for t, p in enumerate(row) if p] for row in rows]
                for rows in by_observation
            ]
            for by_observation in exact.chance
        ]
        self.start = self.belief(exact.start)
        self.states, self.actions = len(earned), len(earned[0])
        self.zero = all(r == 0 for row in earned for r in row)

    def belief(self, row: Row) -> Belief:
        """A belief in integers."""
        return tuple(round(p * 2**FINE) for p in row)

    def earns(self, belief: Belief, a: int) -> int:
        """The expected reward."""
        return sum(b * self.rewards[s][a] for s, b in enumerate(belief) if b) >> FINE

    def after(self, belief: Belief, a: int) -> list[tuple[int, int, Belief]]:
        """(observation, chance, next belief) of everything that may follow."""
        followers = []
        for o, rows in enumerate(self.moves[a]):
            mass = [0] * self.states
            for s, b in enumerate(belief):
                if b:
                    for t, p in rows[s]:
                        mass[t] += b * p
            total = sum(mass)
            if total:
                followers.append((o, total >> FINE, tuple((m << FINE) // total for m in mass)))
        return followers

    def bracket(self, low: int, high: int, steps: Fraction) -> Bracket:
        """Fractions in the model's own rewards; steps: how many count, discounted."""
        if self.zero:
            return Fraction(0), Fraction(0)
        slack = SLACK * steps * steps
        return (
            (Fraction(low, ONE) - slack) * self.unit,
            (Fraction(high, ONE) + slack) * self.unit,
        )


class Graph:
    """Beliefs met so far, by number.

    depth: the least number of steps to each. came: how each was met first, (number, action,
    observation). remembered(came): what tells equal beliefs apart, where anything does.
    """

    def __init__(
        self,
        process: Process,
        start: Belief | None = None,
        remembered: Callable[[Came], Hashable] = lambda _: None,
    ) -> None:
        self.process, self.remembered = process, remembered
        self.beliefs: list[Belief] = []
        self.depth: list[int] = []
        self.came: list[Came] = []
        self._numbers: dict[Hashable, int] = {}
        self._add(process.start if start is None else start, 0, BEGUN)

    def _add(self, belief: Belief, depth: int, came: Came) -> int:
        """The number of a belief."""
        half = 1 << (FINE - COARSE - 1)
        key = tuple((b + half) >> (FINE - COARSE) for b in belief)
        number = self._numbers.setdefault((key, self.remembered(came)), len(self.beliefs))
        if number == len(self.beliefs):
            self.beliefs.append(belief)
            self.depth.append(depth)
            self.came.append(came)
        return number

    def choice(self, n: int, a: int) -> Choice:
        """An action at a belief; what it leads to joins the graph."""
        following = self.process.after(self.beliefs[n], a)
        edges = [(p, self._add(b, self.depth[n] + 1, (n, a, o))) for o, p, b in following]
        return Choice(self.process.earns(self.beliefs[n], a), edges)


class Oracle:
    """Brackets of optimal values of one model. rewards[s][a]: instead of the model's own."""

    def __init__(self, exact: Exact, rewards: list[Row] | None = None) -> None:
        self.exact = exact
        self.process = Process(exact, rewards)

    @property
    def steps(self) -> Fraction:
        """1 / (1 - discount)."""
        return 1 / (1 - self.process.discount)

    @property
    def scale(self) -> Fraction:
        """The value of the largest reward at every step."""
        return Fraction(0) if self.process.zero else self.process.unit * self.steps

    def optimal(self, limit: int, start: Row | None = None) -> Bracket:
        """The optimal value at a belief, following up to `limit` beliefs."""
        process = self.process
        graph = Graph(process, None if start is None else process.belief(start))
        nodes = explored(graph, limit, lambda _: range(process.actions))
        problem = Finite(nodes, process.discount)
        low, off_low = problem.optimum([self.at_least(b) for b in graph.beliefs])
        high, off_high = problem.optimum([self.at_most(b) for b in graph.beliefs])
        return process.bracket(low[0] - off_low, high[0] + off_high, self.steps)

    def horizon(self, steps: int) -> Bracket:
        """The optimal value of a number of steps from the start."""
        process, graph = self.process, Graph(self.process)
        choices: list[list[Choice]] = []
        while len(choices) < len(graph.beliefs):
            n = len(choices)
            leaf = graph.depth[n] >= steps
            choices.append([] if leaf else [graph.choice(n, a) for a in range(process.actions)])
        problem = Finite(choices, process.discount)
        values = [0] * len(choices)
        for left in range(1, steps + 1):
            values = [
                max(problem.ahead_of(choice, values) for choice in choices[n])
                if graph.depth[n] <= steps - left
                else 0
                for n in range(len(choices))
            ]
        return process.bracket(values[0] - steps, values[0] + steps, Fraction(steps + 1))

    # ---- bounds that cost little

    @cached_property
    def seen(self) -> Fraction:
        """The value at the start of seeing every state: the MDP's."""
        value = Fraction(_at(self.process.start, self._mdp), ONE) * self.process.unit
        return Fraction(0) if self.process.zero else value

    @cached_property
    def blind(self) -> Fraction:
        """The value at the start of the best single action."""
        value = Fraction(self.at_least(self.process.start), ONE) * self.process.unit
        return Fraction(0) if self.process.zero else value

    def at_least(self, belief: Belief) -> int:
        """What the best blind policy is worth."""
        return max(_at(belief, values) for values in self._blind)

    def at_most(self, belief: Belief) -> int:
        """The fast-informed bound."""
        return max(_at(belief, values) for values in self._informed)

    @cached_property
    def _moves(self) -> list[list[Choice]]:
        """The problem of seeing every state."""
        process = self.process

        def choice(s: int, a: int) -> Choice:
            edges = [(p, t) for rows in process.moves[a] for t, p in rows[s]]
            return Choice(process.rewards[s][a], edges)

        return [[choice(s, a) for a in range(process.actions)] for s in range(process.states)]

    @cached_property
    def _mdp(self) -> list[int]:
        values, off = Finite(self._moves, self.process.discount).optimum([])
        return [value + off for value in values]

    @cached_property
    def _blind(self) -> list[list[int]]:
        problem = Finite(self._moves, self.process.discount)
        evaluated = (problem.of([a] * self.process.states, []) for a in range(self.process.actions))
        return [[value - off for value in values] for values, off in evaluated]

    @cached_property
    def _informed(self) -> list[list[int]]:
        """By action, at every state: from the MDP's values down, so that each sweep is a bound."""
        process, problem = self.process, Finite(self._moves, self.process.discount)
        states, actions = range(process.states), range(process.actions)
        ahead = [[problem.ahead_of(choice, self._mdp) for choice in row] for row in self._moves]
        bound = [[ahead[s][a] + 2 for s in states] for a in actions]
        for _ in range(SWEEPS):
            bound = [[self._informed_at(s, a, bound) for s in states] for a in actions]
        return bound

    def _informed_at(self, s: int, a: int, bound: list[list[int]]) -> int:
        discount = self.process.discount
        after = sum(
            max(sum(p * values[t] for t, p in rows[s]) for values in bound)
            for rows in self.process.moves[a]
            if rows[s]
        )
        ahead = (after >> BITS) * discount.numerator // discount.denominator
        return self.process.rewards[s][a] + ahead + 2


def explored(
    graph: Graph, limit: int, actions: Callable[[int], Iterable[int]]
) -> list[list[Choice]]:
    """The choices at a number of beliefs, likeliest first; actions(n): those of a node."""
    nodes: list[list[Choice]] = [[]]
    discount = float(graph.process.discount)
    queue = [(-1.0, 0)]
    while queue and limit > 0:
        weight, n = heappop(queue)
        limit -= 1
        for a in actions(n):
            choice = graph.choice(n, a)
            nodes[n].append(choice)
            for chance, following in choice.edges:
                if following == len(nodes):
                    nodes.append([])
                    heappush(queue, (weight * discount * (chance / ONE), following))
    return nodes


def _at(belief: Belief, values: list[int]) -> int:
    return sum(b * value for b, value in zip(belief, values, strict=True)) >> FINE
