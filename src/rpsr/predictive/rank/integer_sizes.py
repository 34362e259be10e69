"""Bounds on the integers that a random prime may divide by accident.

Two claims about rationals are decided modulo primes. Cleared of denominators, each states that a
certain integer is zero, and a prime errs only if it divides that integer when it is not. Bounded by
2^b, a non-zero integer has at most b / 30 prime divisors of 30 bits and more, among the more than
K = 5 10^7 primes drawn from: a random prime errs with probability b / 30 / K at most, and primes
whose product exceeds 2^b cannot all err.

*Two block sums, or two rewards, are equal* (`comparison_bits`). Let t and t' be the totals of the
two rows of transitions and L the common multiple of all totals of rows of emissions. The difference
of the block sums, times t t' L, is an integer of absolute value at most t t' L. For two expected
rewards, the common denominator d of rewards comes in as a factor, and twice the largest reward.

*A vector x is in the span of r outcome vectors* (`minor_bits`). Otherwise a minor of order r + 1 of
[U | x] is non-zero. With D the common multiple of all denominators of D[a,o], the column u(q) times
D^|q| is integer, with entries of D^|q| at most; a reward column needs a factor D d more, and is as
large as the largest reward. Hadamard's inequality bounds the minor by the product of the columns'
lengths, hence

    b = sum over columns of (log2 of the largest entry + log2(r + 1) / 2),

summed over the r outcome vectors and the largest x in question: an extension of the longest member,
or a reward.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm, log2

import numpy as np

from rpsr.io.records import Rows
from rpsr.models.pomdp import POMDP
from rpsr.predictive.rank.primes import PRIME_BITS, PRIMES_DRAWN_FROM
from rpsr.predictive.rank.search import Member


def chance_of_dividing(bits: float) -> float:
    """The probability that a random prime divides a given non-zero integer below 2^bits."""
    return min(1.0, bits / PRIME_BITS / PRIMES_DRAWN_FROM)


def comparison_bits(pomdp: POMDP) -> float:
    """log2 of a bound on the integers that are zero if and only if a merge is correct."""
    totals = _reduced_totals(pomdp.record.transition)
    emissions = lcm(*_reduced_totals(pomdp.record.emission))
    denominator, largest = _reward_scale(pomdp)
    return 2 * log2(max(totals)) + log2(emissions) + log2(denominator) + log2(largest) + 1


def minor_bits(pomdp: POMDP, members: tuple[Member, ...]) -> float:
    """log2 of a bound on every minor of the members' and one more outcome vector."""
    step = step_bits(pomdp)
    reward = reward_bits(pomdp)
    lengths = [len(member.interactions) for member in members]
    earning = sum(member.action is not None for member in members)
    columns = len(members) + 1
    one_more = (max(lengths) + 1) * step + reward
    return sum(lengths) * step + earning * reward + one_more + columns * log2(columns) / 2


def step_bits(pomdp: POMDP) -> float:
    """log2 of the common denominator of all D[a,o]: the bits added by one more interaction."""
    totals = _reduced_totals(pomdp.record.transition), _reduced_totals(pomdp.record.emission)
    return log2(lcm(*totals[0]) * lcm(*totals[1]))


def reward_bits(pomdp: POMDP) -> float:
    """log2 of the size of expected rewards, cleared of denominators."""
    denominator, largest = _reward_scale(pomdp)
    return step_bits(pomdp) + log2(denominator) + log2(largest)


def _reduced_totals(rows: Rows) -> list[int]:
    """The distinct denominators of the rows, once numerators share no factor with them."""
    assert rows.weights is not None
    common = np.gcd.reduceat(rows.weights, rows.indptr[:-1])
    return [int(total) for total in np.unique(rows.totals() // common)]


def _reward_scale(pomdp: POMDP) -> tuple[int, Fraction]:
    """The common denominator of the rewards, and a bound of at least 1 on their size."""
    exact = pomdp.record.rewards.exact
    assert exact is not None
    return lcm(*(r.denominator for r in exact)), max(Fraction(1), *(abs(r) for r in exact))
