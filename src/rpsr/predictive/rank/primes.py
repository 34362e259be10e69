"""Random 31-bit primes, and rationals reduced modulo them.

Primes are drawn uniformly from [2^30, 2^31): products of two residues then stay below 2^62, inside
an int64, with room for one more addition. There are pi(2^31) - pi(2^30) = 50 697 537 of them, and a
non-zero integer below 2^b in absolute value is divisible by at most b / 30 of them: hence the error
probabilities of `rpsr.predictive.rank.certify`.

Reference: G. L. Miller and M. O. Rabin's test; C. Pomerance, J. L. Selfridge and S. S. Wagstaff
(1980) proved that the bases 2, 3, 5 and 7 decide every number below 3 215 031 751.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from rpsr.io.records import Floats, Integers, Ints

PRIME_BITS = 30  # every prime drawn is at least 2^30
PRIMES_DRAWN_FROM = 50_000_000  # a lower bound, with room for those that divide a denominator
_WITNESSES = (2, 3, 5, 7)


def random_prime(rng: np.random.Generator) -> int:
    """A prime drawn uniformly from those in [2^30, 2^31)."""
    while True:
        candidate = int(rng.integers(2**PRIME_BITS, 2 ** (PRIME_BITS + 1))) | 1
        if is_prime(candidate):
            return candidate


def is_prime(number: int) -> bool:
    """Whether an odd number of 31 bits is prime; certain, not probable."""
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for witness in _WITNESSES:
        power = pow(witness, odd, number)
        if power in (1, number - 1):
            continue
        for _ in range(twos - 1):
            power = power * power % number
            if power == number - 1:
                break
        else:
            return False
    return True


def integer_residues(values: Integers, prime: int) -> Ints:
    """Integers (int64, or objects where those do not suffice) modulo the prime."""
    return (values % prime).astype(np.int64)


def inverse_residues(values: Ints, prime: int) -> Ints:
    """Inverses of residues. A zero has none: the caller excludes zeros."""
    distinct, where = np.unique(values, return_inverse=True)  # a model has few denominators
    inverses = np.array([pow(int(v), -1, prime) for v in distinct], dtype=np.int64)
    return inverses[where]


def float_residues(values: Floats, prime: int) -> Ints:
    """Floats, as dyadic rationals m 2^e, modulo the prime."""
    mantissas, exponents = np.frexp(values)
    whole = (mantissas * 2.0**53).astype(np.int64)
    distinct, where = np.unique(exponents, return_inverse=True)
    powers = np.array([pow(2, int(e) - 53, prime) for e in distinct], dtype=np.int64)
    return whole % prime * powers[where] % prime


def fraction_residues(values: Iterable[Fraction], prime: int) -> Ints | None:
    """Fractions modulo the prime, or None if it divides one of their denominators."""
    residues: list[int] = []
    for value in values:
        if value.denominator % prime == 0:
            return None
        residues.append(value.numerator * pow(value.denominator, -1, prime) % prime)
    return np.array(residues, dtype=np.int64)
