"""Expected rewards R(s, a): exactly, or in floats with a bound on their error.

Rewards that cancel leave few correct digits in a sum of floats. So an exact record is summed in
integers: with transition weights w over W, emission weights v over V and rewards n / L,

    R(s, a) = sum_s' w(s') / W * sum_o v(o) / V(s') * n(s', o) / L.

A reward that does not depend on the outcome needs no sum, and one that depends on s' alone needs no
v. Totals V that differ under one (s, a) are rare; those sums use fractions.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm

import numpy as np

from rpsr.io.records import Bools, Floats, Integers, Ints, Record
from rpsr.models.rounding import expectations

FITS = 2**62  # sums of integers below this fit into 64 bits


def exact_expectations(record: Record) -> tuple[Integers, Integers]:
    """R(s, a) of an exact record: numerators and denominators, (A * S,) each, row a * S + s."""
    assert record.rewards.exact is not None, "the record is exact"
    exact, moves = record.rewards.exact, record.transition
    common = lcm(*(value.denominator for value in exact))
    table = np.array([int(value * common) for value in exact], dtype=object)
    begins = _first_outcomes(record)
    low = np.minimum.reduceat(record.rewards.index, begins)  # (edges,)
    high = np.maximum.reduceat(record.rewards.index, begins)
    lowest, highest = (
        ends.reduceat(of, moves.indptr[:-1]) for ends, of in ((np.minimum, low), (np.maximum, high))
    )
    numerators: Integers = table[lowest]
    denominators: Integers = np.full(moves.height, common, dtype=object)
    varied = lowest != highest
    if varied.any():
        numerators[varied], totals = _sums(record, table, low, high, varied)
        denominators[varied] *= totals
    return numerators, denominators


def _first_outcomes(record: Record) -> Ints:
    """(edges,): the first outcome of each edge; outcomes are sorted by edge."""
    counts = record.outcomes_of_edge()
    return np.cumsum(counts) - counts


def _sums(
    record: Record, table: Integers, low: Ints, high: Ints, varied: Bools
) -> tuple[Integers, Integers]:
    """sum w v n and W V, for rows whose rewards vary (A * S,).

    table: the numerators n of the distinct rewards. low, high (edges,): those under each edge.
    """
    moves, emission, index = record.transition, record.emission, record.rewards.index
    assert moves.weights is not None
    assert emission.weights is not None
    seen_by = record.emission_row_of_edge()
    edges = np.flatnonzero(varied[moves.row_of_entry()])
    wholes, halves = moves.totals(), emission.totals()
    largest = max(abs(int(n)) for n in table)
    # All entries are cast below, including those that no sum uses.
    most = int(wholes.max()) * int(halves.max())
    kind = np.int64 if most * largest < FITS else object
    table, weights, seen = (x.astype(kind) for x in (table, moves.weights, emission.weights))
    split = low != high
    inner, under = table[low], np.ones(len(low), dtype=kind)
    if split[edges].any():
        edge, entry = record.outcome_entries()
        at = np.flatnonzero((split & varied[moves.row_of_entry()])[edge])
        parts = np.flatnonzero(np.diff(edge[at], prepend=-1))
        inner[edge[at][parts]] = np.add.reduceat(seen[entry[at]] * table[index[at]], parts)
        under[split] = halves.astype(kind)[seen_by[split]]
    begins = np.append(0, np.cumsum(np.diff(moves.indptr)[varied]))[:-1]
    widest = np.maximum.reduceat(under[edges], begins)
    above = np.repeat(widest, np.diff(moves.indptr)[varied])
    sums = np.add.reduceat(weights[edges] * inner[edges] * (above // under[edges]), begins)
    sums, totals = sums.astype(object), wholes[varied].astype(object) * widest.astype(object)
    odd = np.logical_or.reduceat((under[edges] != 1) & (under[edges] != above), begins)
    ends = np.append(begins[1:], len(edges))
    for row in np.flatnonzero(odd).tolist():
        mine = edges[begins[row] : ends[row]].tolist()
        sure = sum(Fraction(int(weights[e]) * int(inner[e]), int(under[e])) for e in mine)
        sums[row] = sure.numerator
        totals[row] = int(wholes[varied][row]) * sure.denominator
    return sums, totals


def float_expectations(record: Record) -> tuple[Floats, float]:
    """R(s, a) of a record known in floats, (A * S,), and a bound on their error.

    The error is relative to the model with rows divided by their sums (`rounding.expectations`).
    """
    edge, entry = record.outcome_entries()
    cell = record.transition.row_of_entry()[edge]
    reward = record.rewards.values[record.rewards.index]
    size = record.transition.height
    chance = record.transition.values[edge] * record.emission.values[entry]
    summed = np.bincount(cell, chance * reward, minlength=size)
    # A reward that does not depend on the outcome is taken as such, not as a rounded average.
    begins = np.flatnonzero(np.diff(cell, prepend=-1))
    low, high = np.minimum.reduceat(reward, begins), np.maximum.reduceat(reward, begins)
    share = expectations(np.bincount(cell, minlength=size), len(record.observations))
    error = share * np.bincount(cell, chance * np.abs(reward), minlength=size)
    return np.where(low == high, low, summed), float(np.where(low == high, 0.0, error).max())
