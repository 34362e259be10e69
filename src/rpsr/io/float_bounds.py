"""Rationals as floats: the nearest one, or one on the side that keeps a bound a bound."""

from __future__ import annotations

from fractions import Fraction
from math import inf, nextafter


def as_float(value: Fraction) -> float:
    """The nearest float; infinite beyond the range of floats."""
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def float_below(value: Fraction) -> float:
    """The largest float that is at most a fraction."""
    near = as_float(value)
    return near if near <= value else nextafter(near, -inf)


def float_above(value: Fraction) -> float:
    """The smallest float that is at least a fraction."""
    return -float_below(-value)
