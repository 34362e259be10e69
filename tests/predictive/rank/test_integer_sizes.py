"""Bounds on integers that primes may divide: at least as large as integers that really occur."""

from fractions import Fraction
from itertools import pairwise
from math import log2

import numpy as np
import pytest
from tests.predictive.rationals import FANO, determinant

from rpsr import POMDP
from rpsr.domains import tabulate
from rpsr.predictive.rank.integer_sizes import chance_of_dividing, comparison_bits, minor_bits
from rpsr.predictive.rank.primes import PRIME_BITS, PRIMES_DRAWN_FROM
from rpsr.predictive.rank.search import Member


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


def test_a_difference_of_rewards_may_be_twice_the_largest():
    """States that stay earn 7 and -7: all totals and denominators are 1."""
    pomdp = POMDP.from_arrays(
        [np.eye(2)], [np.ones((2, 1))], [[7], [-7]], [0.5, 0.5], 0.9, exact=True
    )
    assert comparison_bits(pomdp) >= log2(7 - -7)


def test_a_step_has_the_denominators_of_emissions_too():
    """States that stay show x with probability 1/101 and 100/103: a minor with the vector of ones
    is 9997, cleared of denominators, and so is the difference of two block sums.
    """
    seen = [Fraction(1, 101), Fraction(100, 103)]
    pomdp = tabulate(
        name="two",
        states=(0, 1),
        actions=("stay",),
        observations=("x", "y"),
        start={0: 1},
        transition=lambda state, _: {state: 1},
        emission=lambda _, state: {"x": seen[state], "y": 1 - seen[state]},
        reward=lambda *_: 1,
        discount=Fraction(9, 10),
    )
    assert abs(seen[0] - seen[1]) * 101 * 103 == 9997
    assert minor_bits(pomdp, (Member((), None),)) >= log2(9997)
    assert comparison_bits(pomdp) >= log2(9997)


def test_a_minor_has_a_column_more_than_there_are_members():
    """The vector of ones and the rewards 1 and -1 have the minor -2: both columns are long."""
    one = np.ones((1, 2, 1))
    rewards = np.array([[1.0], [-1.0]])
    pomdp = POMDP.from_arrays(np.eye(2)[None], one, rewards, None, 0.9, exact=True)
    minor = determinant(np.column_stack([np.ones(2), rewards[:, 0]]))
    assert minor == -2
    assert minor_bits(pomdp, (Member((), None),)) >= log2(abs(minor))


def test_a_random_prime_divides_with_the_probability_of_its_share():
    assert chance_of_dividing(0) == 0
    assert chance_of_dividing(PRIME_BITS) == pytest.approx(1 / PRIMES_DRAWN_FROM, rel=1e-12)
    assert chance_of_dividing(1e12) == 1
    sizes = [chance_of_dividing(bits) for bits in (1, 100, 10_000)]
    assert all(low < high for low, high in pairwise(sizes))
