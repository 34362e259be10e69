"""The oracle: outcome vectors, ranks and the paper's two searches, literally and in fractions.

Slow and plain on purpose. Random models come in three kinds, because ranks only get interesting
when they are not full: `any`; `merged`, whose states fall into classes that behave alike; `mixed`,
where a state behaves like the average of two others although it looks like neither.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from rpsr.domains.rules import tabulate
from rpsr.models.pomdp import POMDP
from rpsr.predictive.rank.search import Member

Vector = list[Fraction]
KINDS = ["any", "merged", "mixed"]


def process(pomdp: POMDP) -> list[list[list[dict[int, Fraction]]]]:
    """D[a][o][s] as {s': probability}."""
    record, n = pomdp.record, len(pomdp.states)
    edges = record.emission_row_of_edge().tolist()
    D = [[[{} for _ in pomdp.states] for _ in pomdp.observations] for _ in pomdp.actions]
    edge = 0
    for row in range(len(pomdp.actions) * n):
        for target, p in record.transition.fractions(row).items():
            for o, q in record.emission.fractions(edges[edge]).items():
                D[row // n][o][row % n][target] = p * q
            edge += 1
    return D


def outcome(pomdp: POMDP, member: Member) -> Vector:
    """u(qz), by the paper's recursion."""
    if member.action is None:
        vector = [Fraction(1)] * len(pomdp.states)
    else:
        vector = [row[member.action] for row in pomdp.exact_rewards()]
    D = process(pomdp)
    for a, o in reversed(member.interactions):
        vector = [sum((p * vector[t] for t, p in row.items()), Fraction(0)) for row in D[a][o]]
    return vector


def rank(vectors: list[Vector]) -> int:
    """By Gaussian elimination."""
    rows, pivots = [list(v) for v in vectors], 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((r for r in range(pivots, len(rows)) if rows[r][column] != 0), None)
        if pivot is None:
            continue
        rows[pivots], rows[pivot] = rows[pivot], rows[pivots]
        for r in range(pivots + 1, len(rows)):
            factor = rows[r][column] / rows[pivots][column]
            if factor:
                rows[r] = [x - factor * y for x, y in zip(rows[r], rows[pivots], strict=True)]
        pivots += 1
    return pivots


class LiteralSearch:
    """The paper's algorithms as printed; `rewards` chooses intents over tests."""

    def __init__(self, pomdp: POMDP, *, rewards: bool) -> None:
        self.pomdp, self.rewards = pomdp, rewards
        self.steps = [
            (a, o) for a in range(len(pomdp.actions)) for o in range(len(pomdp.observations))
        ]
        self.z = [None, *range(len(pomdp.actions))] if rewards else [None]
        self.members: list[Member] = []
        self.vectors: list[Vector] = []

    def accept(self, member: Member) -> bool:
        vector = outcome(self.pomdp, member)
        if rank([*self.vectors, vector]) == len(self.vectors):
            return False
        self.members.append(member)
        self.vectors.append(vector)
        return True

    def starts(self) -> list[Member]:
        if self.rewards:
            return [Member((), z) for z in self.z]
        return [Member((step,), None) for step in self.steps]

    def breadth_first(self) -> tuple[Member, ...]:
        """Algorithm 2: every extension of every member, again and again."""
        for member in self.starts():
            self.accept(member)
        before = -1
        while before != len(self.members):
            before = len(self.members)
            for step in self.steps:
                for member in self.members[:before]:
                    self.accept(Member((step, *member.interactions), member.action))
        return tuple(self.members)

    def depth_first(self) -> tuple[Member, ...]:
        """Algorithm 1: for tests as Littman and Sutton have it, for intents as the paper does."""
        if self.rewards:
            self._visit(())
        else:
            for step in self.steps:
                self._visit((step,))
        return tuple(self.members)

    def _visit(self, test: tuple[tuple[int, int], ...]) -> None:
        for z in self.z:
            if self.accept(Member(test, z)):
                for step in self.steps:
                    self._visit((step, *test))


def random_pomdp(seed: int, kind: str, n_states: int, *, rewarding: bool = True) -> POMDP:
    """A random model with 2 actions and 2 observations.

    `merged`: states s and s mod 2 look alike. `mixed`: the last state moves like the average of the
    first two. What they earn has nothing to do with that if `rewarding`, and follows suit if not.
    """
    rng = np.random.default_rng(seed)
    states, actions, observations = range(n_states), ["left", "right"], ["dark", "light"]

    def lottery(width: int) -> dict[int, Fraction]:
        weights = rng.integers(0, 6, width) * rng.integers(0, 2, width)
        weights[int(rng.integers(width))] += 1
        return {i: Fraction(int(w), int(weights.sum())) for i, w in enumerate(weights) if w}

    def average(x: dict[int, Fraction], y: dict[int, Fraction]) -> dict[int, Fraction]:
        return {k: (x.get(k, Fraction(0)) + y.get(k, Fraction(0))) / 2 for k in x.keys() | y.keys()}

    looks = {s: s % 2 if kind == "merged" else s for s in states}
    seen = {(a, c): lottery(2) for a in actions for c in sorted(set(looks.values()))}
    moves = {(s, a): lottery(n_states) for s in states for a in actions}
    earned = {(s, a): Fraction(int(rng.integers(-3, 4)), 2) for s in states for a in actions}
    for a in actions:
        for s in states[2:] if kind == "merged" else []:
            # The same chance for each class, spread over its states anew.
            moves[s, a] = _spread(rng, moves[s % 2, a], n_states)
            earned[s, a] = earned[s, a] if rewarding else earned[s % 2, a]
        if kind == "mixed":
            moves[n_states - 1, a] = average(moves[0, a], moves[1, a])
            if not rewarding:
                earned[n_states - 1, a] = (earned[0, a] + earned[1, a]) / 2
    return tabulate(
        name=f"{kind}-{seed}",
        states=states,
        actions=actions,
        observations=observations,
        start={0: 1},
        transition=lambda s, a: moves[s, a],
        emission=lambda a, t: {observations[o]: p for o, p in seen[a, looks[t]].items()},
        reward=lambda s, a, _t, _o: earned[s, a],
        discount=Fraction(9, 10),
    )


def _spread(
    rng: np.random.Generator, move: dict[int, Fraction], n_states: int
) -> dict[int, Fraction]:
    spread: dict[int, Fraction] = {}
    for target, p in move.items():
        other = int(rng.choice(range(target % 2, n_states, 2)))
        spread[other] = spread.get(other, Fraction(0)) + p
    return spread


def pomdps() -> st.SearchStrategy[POMDP]:
    """Random models of every kind."""
    return st.builds(
        lambda seed, kind, n, rewarding: random_pomdp(seed, kind, n, rewarding=rewarding),
        st.integers(0, 2**32 - 1),
        st.sampled_from(KINDS),
        st.integers(3, 6),
        st.booleans(),
    )


# The points of the Fano plane on its lines: of all 7 x 7 matrices of zeros and ones, none has a
# larger determinant than its complement, 32 in absolute value.
LINES = [(0, 1, 2), (0, 3, 4), (0, 5, 6), (1, 3, 5), (1, 4, 6), (2, 3, 6), (2, 4, 5)]
FANO = np.array([[float(point not in line) for line in LINES] for point in range(7)])


def determinant(matrix):
    rows = [[Fraction(value) for value in row] for row in matrix.tolist()]
    size, product = len(rows), Fraction(1)
    for k in range(size):
        pivot = next((i for i in range(k, size) if rows[i][k]), None)
        if pivot is None:
            return Fraction(0)
        if pivot != k:
            rows[k], rows[pivot], product = rows[pivot], rows[k], -product
        product *= rows[k][k]
        for i in range(k + 1, size):
            factor = rows[i][k] / rows[k][k]
            rows[i] = [x - factor * y for x, y in zip(rows[i], rows[k], strict=True)]
    return product
