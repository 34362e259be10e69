"""Steps of beliefs in integers: a belief is its states and weights without a common divisor.

So two beliefs are equal exactly if they are one object's equals, whatever their probabilities.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import gcd, lcm

import numpy as np

from rpsr.io.records import Ints, Record
from rpsr.models.expectations import exact_expectations

LONGEST = 4096  # bits of a weight: beliefs of longer ones are not computed

Belief = tuple[tuple[int, ...], tuple[int, ...]]  # states, ascending, and weights without a divisor
Outcomes = dict[int, list[tuple[int, int, int]]]  # by observation: next state, numerator, denom.


class ExactSteps:
    """The exact process of a POMDP; rows are computed when needed and kept.

    part_of (S,): parts of the states, 0 to k - 1, of which each counts as one state, by default
    every state itself; `lumps` says whether that is exact.
    """

    def __init__(self, record: Record, part_of: Ints | None = None) -> None:
        self.record = record
        self.part_of: list[int] | range = range(record.transition.width)
        if part_of is not None:
            self.part_of = part_of.tolist()
        self.first = {part: s for s, part in reversed([*enumerate(self.part_of)])}
        self._rows: dict[tuple[int, int], Outcomes] = {}

    def lumps(self, check: Callable[[], None], *, earning: bool = True) -> bool:
        """Whether all states of a part move alike: to each part, with each observation, as likely.

        earning: whether they must have equal expected rewards, too. check: called before each
        state, to keep to a time limit.
        """
        if earning and len(self.first) < len(self.part_of) and not self._earn_alike():
            return False
        for state, part in enumerate(self.part_of):
            first = self.first[part]
            if state == first:
                continue
            check()
            for action in range(len(self.record.actions)):
                if _summed(self._moves(action, state)) != _summed(self._moves(action, first)):
                    return False
        return True

    def _earn_alike(self) -> bool:
        """Whether all states of a part have the same expected rewards."""
        above, below = (x.reshape(-1, len(self.part_of)) for x in exact_expectations(self.record))
        like = [self.first[part] for part in self.part_of]
        return bool(np.array_equal(above * below[:, like], above[:, like] * below))

    def start(self) -> Belief | None:
        """The start; None if its weights are too long."""
        start = self.record.start
        assert start.weights is not None
        weights: dict[int, int] = {}
        for state, weight in zip(start.indices.tolist(), start.weights.tolist(), strict=True):
            if weight:
                part = self.part_of[state]
                weights[part] = weights.get(part, 0) + int(weight)
        return reduced(weights)

    def row(self, action: int, state: int) -> Outcomes:
        """The moves from a state by observation: the next state, and its probability."""
        if (action, state) not in self._rows:
            self._rows[action, state] = self._moves(action, self.first[state])
        return self._rows[action, state]

    def _moves(self, action: int, state: int) -> Outcomes:
        """The moves from a state of the record to parts."""
        record, outcomes = self.record, Outcomes()
        moves, emission = record.transition, record.emission
        assert moves.weights is not None
        assert emission.weights is not None
        row = action * moves.width + state
        span = range(int(moves.indptr[row]), int(moves.indptr[row + 1]))
        whole = sum(int(moves.weights[m]) for m in span)
        for m in span:
            target = int(moves.indices[m])
            shown = m if record.emission_by_edge else action * moves.width + target
            seen = range(int(emission.indptr[shown]), int(emission.indptr[shown + 1]))
            half = sum(int(emission.weights[e]) for e in seen)
            for e in seen:
                above = int(moves.weights[m]) * int(emission.weights[e])
                if above:
                    part = (self.part_of[target], above, whole * half)
                    outcomes.setdefault(int(emission.indices[e]), []).append(part)
        return outcomes

    def after(self, before: Belief, action: int, observation: int) -> Belief | None:
        """The belief after a step; None if its weights are too long."""
        terms: list[tuple[int, int, int]] = []
        for state, weight in zip(*before, strict=True):
            for target, above, below in self.row(action, state).get(observation, ()):
                terms.append((target, weight * above, below))
        return reduced(_totals(terms)[0])

    def steps(self, before: Belief, action: int) -> dict[int, tuple[Belief | None, int, int]]:
        """By possible observation: the belief after it, and its probability as a fraction."""
        terms: Outcomes = {}
        for state, weight in zip(*before, strict=True):
            for seen, moves in self.row(action, state).items():
                addends = terms.setdefault(seen, [])
                addends += [(target, weight * above, below) for target, above, below in moves]
        whole, made = sum(before[1]), dict[int, tuple[Belief | None, int, int]]()
        for seen, addends in terms.items():
            totals, common = _totals(addends)
            made[seen] = reduced(totals), sum(totals.values()), common * whole
        return made


def _summed(moves: Outcomes) -> dict[tuple[int, int], Fraction]:
    """The probability of each observation with each next state."""
    sums: dict[tuple[int, int], Fraction] = {}
    for seen, parts in moves.items():
        for target, above, below in parts:
            sums[seen, target] = sums.get((seen, target), Fraction(0)) + Fraction(above, below)
    return sums


def _totals(terms: list[tuple[int, int, int]]) -> tuple[dict[int, int], int]:
    """Sums of fractions by state, over a common denominator."""
    common = lcm(*(below for _, _, below in terms))
    totals: dict[int, int] = {}
    for target, above, below in terms:
        totals[target] = totals.get(target, 0) + above * (common // below)
    return totals, common


def reduced(totals: dict[int, int]) -> Belief | None:
    """Weights by state without a common divisor; None if one is too long."""
    divisor = gcd(*totals.values())
    states = tuple(sorted(totals))
    weights = tuple(totals[state] // divisor for state in states)
    if max(weights).bit_length() > LONGEST:
        return None
    return states, weights
