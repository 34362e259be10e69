"""Parse numbers exactly, and refuse those of excessive length."""

from __future__ import annotations

from fractions import Fraction

from rpsr.errors import InputError
from rpsr.io.tokens import parse_decimal


def parse_fraction(text: str) -> Fraction | None:
    """The fraction of a text such as `0.95`, `1e-3` or `19/20`; None if it is no number.

    A number with hundreds of digits, or with such a power of ten, is treated as no number.
    """
    numbers = [parse_decimal(part.encode(errors="replace")) for part in text.strip().split("/", 1)]
    parts = [Fraction(number[0], 10 ** number[1]) for number in numbers if number is not None]
    if len(parts) != len(numbers) or not all(parts[1:]):
        return None
    return parts[0] / parts[1] if len(parts) == 2 else parts[0]


def parse_discount(discount: Fraction | float | str | None) -> Fraction | None:
    """A discount as the fraction of its shortest decimal (0.95 is 19/20), or an `InputError`."""
    if discount is None:
        return None
    value = discount if isinstance(discount, Fraction) else parse_fraction(str(discount))
    if value is None or not 0 <= value <= 1:
        raise InputError(f"discount: read {discount}, expected a number in [0, 1]")
    return value
