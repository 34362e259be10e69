"""Core searches modulo one random prime after another, each made once.

A certificate uses a few primes, and a basis of rationals the same ones and some more: `Spans`
reuses the searches already made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from rpsr import deadline
from rpsr.io.records import Ints
from rpsr.models.pomdp import POMDP
from rpsr.predictive.rank.echelon import ModularArithmetic, outcome_arithmetic
from rpsr.predictive.rank.modular import ModularPOMDP, reductions
from rpsr.predictive.rank.quotient import Quotient, coarsest
from rpsr.predictive.rank.search import Member, Search, breadth_first

FINDING_BASIS = "finding a basis of the span of tests and intents"


@dataclass(frozen=True, eq=False)
class Searched:
    """The result of a search modulo a prime; the arithmetic holds the span of outcome vectors."""

    model: ModularPOMDP
    quotient: Quotient
    members: tuple[Member, ...]
    arithmetic: ModularArithmetic


@dataclass(frozen=True, eq=False)
class ReducedSpan:
    """The span of all outcome vectors modulo a prime, by its reduced echelon basis.

    rows (rank, n): over n blocks of states. pivots (rank,): ascending. labels (S,): the blocks.
    """

    prime: int
    rows: Ints
    pivots: Ints
    labels: Ints


def search_modulo(
    model: ModularPOMDP, rng: np.random.Generator, search: Search, *, rewards: bool, phase: str
) -> Searched:
    """Merge states, then search for a core set modulo a prime. phase: named by a time limit."""
    quotient = coarsest(model, rng, rewards=rewards)
    deadline.begin(phase)
    arithmetic = outcome_arithmetic(model, quotient, rng, rewards=rewards)
    return Searched(model, quotient, search(arithmetic, rewards), arithmetic)


class Spans:
    """The span of all outcome vectors modulo one prime after another.

    searched: searches already made, of the first primes. A span does not depend on the order of its
    search.
    """

    def __init__(
        self,
        models: Iterator[ModularPOMDP],
        rng: np.random.Generator,
        *,
        rewards: bool,
        searched: Iterable[Searched] = (),
    ) -> None:
        self._models, self._rng, self._rewards = models, rng, rewards
        self._searched = list(searched)
        self._reduced: list[ReducedSpan] = []

    @staticmethod
    def of(pomdp: POMDP, *, rewards: bool, seed: int = 0) -> Spans:
        """The spans of a POMDP, from the first prime that the seed draws."""
        rng = np.random.default_rng(seed)
        return Spans(reductions(pomdp, rng), rng, rewards=rewards)

    def first(self, count: int) -> list[ReducedSpan]:
        """The spans modulo the first primes; known ones are not searched for again."""
        while len(self._reduced) < count:
            self._reduced.append(self._next())
        return self._reduced[:count]

    def _next(self) -> ReducedSpan:
        if self._searched:
            deadline.begin(FINDING_BASIS)
            searched = self._searched.pop(0)
        else:
            model = next(self._models)
            searched = search_modulo(
                model, self._rng, breadth_first, rewards=self._rewards, phase=FINDING_BASIS
            )
        rows, pivots = searched.arithmetic.reduced_basis()
        return ReducedSpan(searched.model.prime, rows, pivots, searched.quotient.labels)
