"""Ranks, accuracy and the rewards that a PSR believes in, in fractions, by the definitions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from tests.differential.models import Exact
from tests.predictive.exact_accuracy import residual
from tests.predictive.rationals import Vector, rank


@dataclass(frozen=True)
class Spans:
    """The spans of outcome vectors of one model, by closing them under the process."""

    exact: Exact

    @cached_property
    def tests(self) -> list[Vector]:
        """A basis of what tests can predict, over states."""
        return self._closed([[Fraction(1)] * len(self.exact.start)])

    @cached_property
    def intents(self) -> list[Vector]:
        """A basis of what tests and rewards can predict, over states."""
        return self._closed([[Fraction(1)] * len(self.exact.start), *self._columns])

    @cached_property
    def lost(self) -> list[Vector]:
        """What least squares on the span of tests leave of the rewards; lost[a][s]."""
        return [residual(self.tests, column) for column in self._columns]

    def psr_rewards(self) -> list[Vector]:
        """The rewards that the PSR believes in; [s][a]."""
        S, A = len(self.exact.start), len(self._columns)
        return [[self._columns[a][s] - self.lost[a][s] for a in range(A)] for s in range(S)]

    @property
    def d_inf(self) -> Fraction:
        """The largest error of the PSR's rewards."""
        return max(abs(x) for column in self.lost for x in column)

    @cached_property
    def d_inf_reachable(self) -> Fraction:
        """The same, by least squares over the states that can be visited."""
        visited = [s for s in range(len(self.exact.start)) if any(b[s] for b in self._beliefs)]
        tests = [[u[s] for s in visited] for u in self.tests]
        columns = [[r[s] for s in visited] for r in self._columns]
        return max(abs(x) for column in columns for x in residual(tests, column))

    @property
    def accurate_reachable(self) -> bool:
        """Whether the PSR carries the rewards of every belief that can be reached."""
        predicted = [[_dot(b, u) for b in self._beliefs] for u in self.tests]
        earned = [[_dot(b, r) for b in self._beliefs] for r in self._columns]
        return rank([*predicted, *earned]) == rank(predicted)

    @property
    def _columns(self) -> list[Vector]:
        return [list(column) for column in zip(*self.exact.rewards, strict=True)]

    @cached_property
    def _beliefs(self) -> list[Vector]:
        return self._closed([self.exact.start], forwards=True)

    def _closed(self, vectors: list[Vector], *, forwards: bool = False) -> list[Vector]:
        basis: list[Vector] = []
        waiting = list(vectors)
        for vector in waiting:  # grows as the basis does
            if rank([*basis, vector]) == len(basis):
                continue
            basis.append(vector)
            for operator in (operator for row in self.exact.chance for operator in row):
                rows = list(zip(*operator, strict=True)) if forwards else operator
                waiting.append([_dot(row, vector) for row in rows])
        return basis


def _dot(x, y) -> Fraction:
    return sum((a * b for a, b in zip(x, y, strict=True)), Fraction(0))
