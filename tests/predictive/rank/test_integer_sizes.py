"""Bounds on integers that primes may divide: at least as large as integers that really occur."""

from fractions import Fraction
from itertools import pairwise
from math import log2

import numpy as np
import pytest

from rpsr import POMDP
from rpsr.domains import tabulate
from rpsr.predictive.rank.integer_sizes import chance_of_dividing, comparison_bits, minor_bits
from rpsr.predictive.rank.primes import PRIME_BITS, PRIMES_DRAWN_FROM
from rpsr.predictive.rank.search import Member

# The points of the Fano plane on its lines: of all 7 x 7 matrices of zeros and ones, none has a
# larger determinant than its complement, 32 in absolute value.
LINES = [(0, 1, 2), (0, 3, 4), (0, 5, 6), (1, 3, 5), (1, 4, 6), (2, 3, 6), (2, 4, 5)]
FANO = np.array([[float(point not in line) for line in LINES] for point in range(7)])


def determinant(matrix):
    rows = [[Fraction(value) for value in row] for row in matrix.tolist()]
    size, found = len(rows), Fraction(1)
    for k in range(size):
        pivot = next((i for i in range(k, size) if rows[i][k]), None)
        if pivot is None:
            return Fraction(0)
        if pivot != k:
            rows[k], rows[pivot], found = rows[pivot], rows[k], -found
        found *= rows[k][k]
        for i in range(k + 1, size):
            factor = rows[i][k] / rows[k][k]
            rows[i] = [x - factor * y for x, y in zip(rows[i], rows[k], strict=True)]
    return found


def test_a_minor_of_a_deterministic_model_is_larger_than_its_entries():
    """Every number is 0 or 1, and yet a minor is 32: its columns' lengths count, not their entries.

    Action i shows whether the state's bit i is set, so that u(i, 1) is column i.
    """
    still = np.repeat(np.eye(7)[None], 7, axis=0)
    seen = np.stack([1 - FANO.T, FANO.T], axis=-1)  # [a, s', o]
    pomdp = POMDP.from_arrays(still, seen, np.ones(7), None, 0.9, exact=True)
    outcomes = np.column_stack([pomdp.D[a][1].toarray().sum(axis=1) for a in range(7)])
    size = abs(determinant(outcomes))
    assert size == 32
    members = tuple(Member(((a, 1),), None) for a in range(6))  # and the seventh is one more
    assert minor_bits(pomdp, members) >= log2(size)


def test_a_difference_of_block_sums_has_the_denominators_of_both_rows():
    """1/101 and 100/103 differ by 9997 / (101 * 103): the totals of two rows come in."""
    rows = [[Fraction(1, 101), Fraction(100, 101)], [Fraction(100, 103), Fraction(3, 103)]]
    pomdp = tabulate(
        name="two",
        states=(0, 1),
        actions=("go",),
        observations=("x",),
        start={0: 1},
        transition=lambda state, _: dict(enumerate(rows[state])),
        emission=lambda *_: {"x": 1},
        reward=lambda *_: 1,
        discount=Fraction(9, 10),
    )
    difference = abs(rows[0][0] - rows[1][0]) * 101 * 103
    assert difference == 9997
    assert comparison_bits(pomdp) >= log2(difference)


def test_a_random_prime_divides_with_the_probability_of_its_share():
    assert chance_of_dividing(0) == 0
    assert chance_of_dividing(PRIME_BITS) == pytest.approx(1 / PRIMES_DRAWN_FROM, rel=1e-12)
    assert chance_of_dividing(1e12) == 1
    sizes = [chance_of_dividing(bits) for bits in (1, 100, 10_000)]
    assert all(low < high for low, high in pairwise(sizes))
