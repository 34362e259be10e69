"""Scalar products for kernels: exact sums, and the same bits compiled and interpreted."""

from fractions import Fraction
from math import fsum
from typing import cast

import numpy as np
import pytest

from rpsr.kernels import Kernel
from rpsr.scalar_products import LANES, dot

ANY_LENGTH = range(3 * LANES + 2)


def stretches(length: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights and values with stretches of this length inside, and NaN around them."""
    rng = np.random.default_rng(length)
    weights, values = np.full(length + 5, np.nan), np.full(length + 9, np.nan)
    weights[3 : 3 + length] = rng.normal(size=length)
    values[7 : 7 + length] = rng.normal(size=length) * 10.0 ** rng.integers(-9, 9, size=length)
    return weights, values


@pytest.mark.parametrize("length", ANY_LENGTH)
def test_compiled_and_interpreted_sums_are_equal_to_the_last_bit(length: int) -> None:
    weights, values = stretches(length)
    interpreted = cast(Kernel, dot).plain
    assert dot(weights, 3, values, 7, length) == interpreted(weights, 3, values, 7, length)


@pytest.mark.parametrize("length", ANY_LENGTH)
def test_the_sum_is_that_of_exact_arithmetic_but_for_rounding(length: int) -> None:
    weights, values = stretches(length)
    products = [
        Fraction(a) * Fraction(b)
        for a, b in zip(weights[3 : 3 + length], values[7 : 7 + length], strict=True)
    ]
    unit = np.finfo(float).eps / 2
    allowed = (length + 1) * unit * fsum(abs(float(product)) for product in products)
    assert abs(Fraction(dot(weights, 3, values, 7, length)) - sum(products)) <= allowed


def test_sums_are_side_by_side() -> None:
    ones, values = np.ones(2 * LANES), np.zeros(2 * LANES)
    values[:2], values[LANES : LANES + 2] = (1e16, 1.0), (-1e16, 1.0)
    assert dot(ones, 0, values, 0, len(values)) == 2.0  # in a single sum, 1e16 + 1 is 1e16
