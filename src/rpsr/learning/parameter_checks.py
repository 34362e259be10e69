"""The allowed values of parameters and rewards; others are errors that name the parameter."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from rpsr.errors import DataError

TINY = 1e-100  # squares of rewards, added up and discounted, must not vanish


@dataclass(frozen=True)
class Allowed:
    """The values that a parameter may have, in words and as a test; `a | b` allows either."""

    expected: str
    accepts: Callable[[Any], bool]

    def __or__(self, other: Allowed) -> Allowed:
        expected = f"{self.expected} or {other.expected}"
        return Allowed(expected, lambda value: self.accepts(value) or other.accepts(value))

    def check(self, name: str, value: Any) -> None:
        """Raise a `DataError` for a value that is not allowed, with the parameter's name."""
        if not self.accepts(value):
            raise DataError(f"{name}: read {value!r}, expected {self.expected}")


def whole(least: int) -> Allowed:
    """Whole numbers, from the least one on."""

    def accepts(value: Any) -> bool:
        return not isinstance(value, bool) and isinstance(value, Integral) and int(value) >= least

    return Allowed(f"a whole number from {least}", accepts)


def number(words: str, inside: Callable[[float], bool]) -> Allowed:
    """Finite numbers in a range, which is given in words and as a test."""

    def accepts(value: Any) -> bool:
        real = not isinstance(value, bool) and isinstance(value, Real)
        return real and math.isfinite(value) and inside(float(value))

    return Allowed(f"a number {words}", accepts)


def one_of(*words: str | None) -> Allowed:
    """One of these words, or None."""
    expected = " or ".join(map(repr, words))
    return Allowed(expected, lambda value: isinstance(value, str | None) and value in words)


def instance(kind: type) -> Allowed:
    """Objects of a class."""
    return Allowed(f"a {kind.__name__}", lambda value: isinstance(value, kind))


def several(member: Allowed) -> Allowed:
    """A tuple of one or more allowed values."""

    def accepts(value: Any) -> bool:
        return (
            isinstance(value, tuple | list) and len(value) > 0 and all(map(member.accepts, value))
        )

    return Allowed(f"one or more in a tuple, each {member.expected}", accepts)


FROM_0, FROM_1 = whole(0), whole(1)
POSITIVE = number("above 0", lambda x: x > 0)
NOT_NEGATIVE = number("from 0", lambda x: x >= 0)
SHARE = number("between 0 and 1", lambda x: 0 < x < 1)
DISCOUNT = one_of(None) | number("from 0 to 1", lambda x: 0 <= x <= 1)
AUTO = one_of("auto")
_RESCALE = "(multiply all rewards by a positive constant: that changes no plan)"
_RANGE = number(f"from 1e-100, or 0 {_RESCALE}", lambda x: not 0 < x < TINY)


def check_range(low: float, high: float) -> None:
    """Raise a `DataError` if the range of rewards is so small that its square underflows."""
    _RANGE.check("the range of rewards", high - low)
