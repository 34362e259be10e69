"""Numbers as users give them: exact, and none that takes longer to read than to mean."""

from __future__ import annotations

from fractions import Fraction

from rpsr.errors import InputError
from rpsr.io.tokens import parse_decimal


def parse_fraction(text: str) -> Fraction | None:
    """The fraction that `0.95`, `1e-3` or `19/20` says; None where it is no number.

    A number of hundreds of digits, or of a power of ten that large, is treated as none.
    """
    numbers = [parse_decimal(part.encode(errors="replace")) for part in text.strip().split("/", 1)]
    parts = [Fraction(number[0], 10 ** number[1]) for number in numbers if number is not None]
    if len(parts) != len(numbers) or not all(parts[1:]):
        return None
    return parts[0] / parts[1] if len(parts) == 2 else parts[0]


def parse_discount(discount: Fraction | float | str | None) -> Fraction | None:
    """A discount as the fraction its shortest decimal says (0.95 is 19/20), or an `InputError`."""
    if discount is None:
        return None
    value = discount if isinstance(discount, Fraction) else parse_fraction(str(discount))
    if value is None or not 0 <= value <= 1:
        raise InputError(f"discount: read {discount}, expected a number in [0, 1]")
    return value
