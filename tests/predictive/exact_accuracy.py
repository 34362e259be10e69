"""The oracle of accuracy: projections, reachable beliefs and both conditions, in fractions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from hypothesis import strategies as st
from tests.predictive import rationals
from tests.predictive.rationals import LiteralSearch, Vector, process, rank
from tests.strategies import records

from rpsr.models.pomdp import POMDP


@dataclass(frozen=True)
class Answer:
    """What `rpsr.predictive.accuracy` must say."""

    psr_rank: int
    accurate: bool
    accurate_reachable: bool
    d_inf: Fraction
    d_inf_reachable: Fraction


def accuracy_in_fractions(pomdp: POMDP) -> Answer:
    """By Gaussian elimination and Gram-Schmidt."""
    search = LiteralSearch(pomdp, rewards=False)
    search.breadth_first()
    outcomes, rewards = search.vectors, reward_columns(pomdp)
    beliefs = reachable_beliefs(pomdp)
    visited = [s for s in range(len(pomdp.states)) if any(b[s] != 0 for b in beliefs)]
    predicted = [[_dot(b, u) for b in beliefs] for u in outcomes]
    earned = [[_dot(b, r) for b in beliefs] for r in rewards]
    return Answer(
        psr_rank=len(outcomes),
        accurate=_inside(outcomes, rewards),
        accurate_reachable=_inside(predicted, earned),
        d_inf=_largest(outcomes, rewards),
        d_inf_reachable=_largest(_at(visited, outcomes), _at(visited, rewards)),
    )


def reward_columns(pomdp: POMDP) -> list[Vector]:
    """R(., a) for every action."""
    return [list(column) for column in zip(*pomdp.exact_rewards(), strict=True)]


def reachable_beliefs(pomdp: POMDP) -> list[Vector]:
    """A basis of the span of reachable beliefs, of unnormalised beliefs b(h)."""
    D, n = process(pomdp), len(pomdp.states)
    start = pomdp.record.start.fractions(0)
    basis = [[start.get(s, Fraction(0)) for s in range(n)]]
    for belief in basis:  # grows as it goes
        for operator in (operator for row in D for operator in row):
            after = [Fraction(0)] * n
            for s, moves in enumerate(operator):
                for t, chance in moves.items():
                    after[t] += belief[s] * chance
            if rank([*basis, after]) > len(basis):
                basis.append(after)
    return basis


def residual(vectors: list[Vector], target: Vector) -> Vector:
    """What least squares leave of a target, by Gram-Schmidt."""
    orthogonal: list[Vector] = []
    for vector in vectors:
        left = _without(orthogonal, vector)
        if any(left):
            orthogonal.append(left)
    return _without(orthogonal, target)


def _without(orthogonal: list[Vector], vector: Vector) -> Vector:
    for direction in orthogonal:
        factor = _dot(vector, direction) / _dot(direction, direction)
        vector = [x - factor * y for x, y in zip(vector, direction, strict=True)]
    return vector


def _dot(x: Vector, y: Vector) -> Fraction:
    return sum((a * b for a, b in zip(x, y, strict=True)), Fraction(0))


def _inside(vectors: list[Vector], targets: list[Vector]) -> bool:
    return rank([*vectors, *targets]) == rank(vectors)


def _largest(vectors: list[Vector], targets: list[Vector]) -> Fraction:
    return max(abs(x) for target in targets for x in residual(vectors, target))


def _at(states: list[int], vectors: list[Vector]) -> list[Vector]:
    return [[vector[s] for s in states] for vector in vectors]


def pomdps() -> st.SearchStrategy[POMDP]:
    """Exact models of every kind: merged, mixed, copied states; any start, names and rewards."""
    return st.one_of(rationals.pomdps(), records(exact=True).map(POMDP))
