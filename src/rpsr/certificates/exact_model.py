"""A POMDP in integers, from its plain record: what a verifier needs to know of a model.

A probability Pr(s', o | s, a) is a product of two weights over a product of two sums of weights.
Floats are binary fractions, so a model known only in floats has weights, too; the model that is
meant has its rows divided by their sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from math import lcm

from rpsr.io.records import Record, Rows

Row = list[tuple[int, int, int]]  # observation, next state, and the weight of both


class ExactModel:
    """A record of A actions, S states and O observations in rationals.

    discount: 1 if the record has none. start (S,). rewards (A, S): expected ones.
    rows (A, S): the sum of the weights of a state under an action, and its possible outcomes.
    """

    def __init__(self, record: Record) -> None:
        self.states, self.actions = record.states, record.actions
        self.observations, self.digest = record.observations, record.digest()
        self.discount = Fraction(1) if record.discount is None else record.discount
        ((entries, total),) = weighted(record.start)
        self.start = [Fraction(0)] * len(record.states)
        for state, weight in entries:
            self.start[state] = Fraction(weight, total)
        self.rewards: list[list[Fraction]] = []
        self.rows: list[list[tuple[int, Row]]] = []
        rows = list(_outcomes(record))
        for a in range(len(record.actions)):
            mine = rows[a * len(record.states) : (a + 1) * len(record.states)]
            self.rows.append([(total, row) for total, row, _ in mine])
            self.rewards.append([reward for _, _, reward in mine])

    def at_start(self, values: Sequence[int | Fraction]) -> Fraction:
        """The expected value at the start, of a value for each state."""
        begin = [(s, chance) for s, chance in enumerate(self.start) if chance]
        return sum((chance * values[s] for s, chance in begin), Fraction(0))


def weighted(rows: Rows) -> Iterator[tuple[list[tuple[int, int]], int]]:
    """Rows as columns with integer weights, and the sum of these."""
    columns, ends = rows.indices.tolist(), rows.indptr.tolist()
    given = None if rows.weights is None else rows.weights.tolist()
    for first, last in pairwise(ends):
        if given is None:
            pairs = [value.as_integer_ratio() for value in rows.values[first:last].tolist()]
            common = max((below for _, below in pairs), default=1)  # powers of two
            weights = [above * (common // below) for above, below in pairs]
        else:
            weights = [int(weight) for weight in given[first:last]]
        yield list(zip(columns[first:last], weights, strict=True)), sum(weights)


def _outcomes(record: Record) -> Iterator[tuple[int, Row, Fraction]]:
    """For each action and state: the sum of weights, the outcomes, and the expected reward."""
    emissions, seen_by = list(weighted(record.emission)), record.emission_row_of_edge().tolist()
    of_outcome, edge, outcome = record.rewards.index.tolist(), 0, 0
    table = record.rewards.exact
    if table is None:
        table = tuple(Fraction(value) for value in record.rewards.values.tolist())
    for targets, total in weighted(record.transition):
        here = [emissions[row] for row in seen_by[edge : edge + len(targets)]]
        common = lcm(*(below for _, below in here))
        edge += len(targets)
        row: Row = []
        shares: dict[int, int] = {}
        for (state, weight), (seen, below) in zip(targets, here, strict=True):
            for observation, chance in seen:
                joint = weight * chance * (common // below)
                row.append((observation, state, joint))
                index = of_outcome[outcome]
                shares[index] = shares.get(index, 0) + joint
                outcome += 1
        reward = sum((table[i] * share for i, share in shares.items()), Fraction(0))
        yield total * common, row, reward / (total * common)
