"""Floats on the right side of rationals."""

from fractions import Fraction
from math import inf, nextafter

import pytest

from rpsr.io.float_bounds import as_float, float_above, float_below


@pytest.mark.parametrize("value", [Fraction(1, 3), Fraction(-1, 3), Fraction(2), Fraction(10**400)])
def test_bounds_are_the_closest_floats(value):
    below, above = float_below(value), float_above(value)
    assert below <= value <= above
    assert above == (below if below == value else nextafter(below, inf))


def test_beyond_the_range_floats_are_infinite():
    assert (as_float(Fraction(10**400)), as_float(Fraction(-(10**400)))) == (inf, -inf)
