"""Core coordinates: read where floats suffice, and refused where they do not."""

from fractions import Fraction

import numpy as np
import pytest

from rpsr.errors import ModelError
from rpsr.predictive.views import in_coordinates


def nearly_parallel(power):
    """T = [[1, 1], [1, 1 + 2^-power]], exact in floats, of condition number about 2^(power + 2)."""
    return np.array([[1.0, 1.0], [1.0, 1.0 + 2.0**-power]])


def solution(power, right):
    """T^-1 right, in fractions."""
    small = Fraction(1, 2**power)
    first, second = (Fraction(value) for value in right)
    y = (second - first) / small
    return [first - y, y]


@pytest.mark.parametrize("power", [10, 25, 36])
def test_up_to_a_condition_number_of_1e12_four_digits_are_correct(power):
    """1e12 loses twelve of sixteen digits."""
    right = np.array([0.1, 0.7])
    coordinates = in_coordinates(nearly_parallel(power), right[:, None])[:, 0]
    for value, exact in zip(coordinates.tolist(), solution(power, right.tolist()), strict=True):
        assert abs(Fraction(value) - exact) <= Fraction(1, 10**4) * abs(exact)


@pytest.mark.parametrize("power", [40, 45, 50])
def test_beyond_it_a_view_refuses(power):
    """At 2^40 the condition number is 4.4e12."""
    with pytest.raises(ModelError, match="too large for core coordinates"):
        in_coordinates(nearly_parallel(power), np.ones((2, 1)))
