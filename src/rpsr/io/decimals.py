"""Write rationals as decimals that read back as the same floats and, if possible, rationals.

A row of probabilities is divided by its sum when it is read, so a row of any rationals w_i / W can
be written exactly: print w_i * c for a decimal c close to 1 / W. Other programs do not divide, so
every w_i * c must also round to the float of w_i / W. Each float allows an interval of c, and c is
the shortest decimal in all of them.

A row known only in floats is printed by the shortest decimals of its floats if those read back.
Otherwise the decimals are chosen to sum to one, each in the interval that rounds to its float; that
is possible unless the row's sum is off by more than rounding explains.
"""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from math import fsum, gcd, inf, nextafter

from rpsr.errors import InputError
from rpsr.io.tokens import MOST_DIGITS
from rpsr.io.weights import PRINTED_ROUNDING, UNREMARKED

DIGITS = 30  # significant digits, if the shortest decimals of floats do not read back


def decimal(numerator: int, digits: int) -> str:
    """numerator / 10**digits in plain notation, without trailing zeros."""
    sign = "-" if numerator < 0 else ""
    text = str(abs(numerator)).rjust(digits + 1, "0")
    whole, part = text[: len(text) - digits], text[len(text) - digits :].rstrip("0")
    return f"{sign}{whole}.{part}" if part else sign + whole


def finite_digits(denominator: int) -> int | None:
    """The number of decimals of 1 / denominator; None if infinite or too long to read."""
    digits = 0
    for prime in (2, 5):
        count = 0
        while denominator % prime == 0 and count <= MOST_DIGITS:
            denominator //= prime
            count += 1
        digits = max(digits, count)
    return digits if denominator == 1 and digits <= MOST_DIGITS else None


def shortest(value: float) -> str:
    """The shortest decimal that reads as this float."""
    return repr(value).removesuffix(".0")


def number(value: Fraction) -> str:
    """A number as a decimal: exact if possible, else the shortest that reads as its float."""
    digits = finite_digits(value.denominator)
    if digits is None:
        return shortest(float(value))
    return decimal(value.numerator * 10**digits // value.denominator, digits)


def probabilities(weights: list[int], values: list[float], digits: int) -> list[str]:
    """A row of probabilities weights / sum(weights), printed to read back the same.

    digits: how the row was printed in its file (weights / 10**digits), or -1.
    """
    total = sum(weights)
    if digits >= 0 and abs(total - 10**digits) * PRINTED_ROUNDING.denominator <= 10**digits:
        return [decimal(w, digits) for w in weights]
    divisor = gcd(*weights)
    weights, total = [w // divisor for w in weights], total // divisor
    places = finite_digits(total)
    if places is not None:
        texts = [decimal(w * 10**places // total, places) for w in weights]
        if [float(text) for text in texts] == values:
            return texts
    factor, places = _factor(weights, values, total)
    return [decimal(w * factor, places) for w in weights]


def _factor(weights: list[int], values: list[float], total: int) -> tuple[int, int]:
    """(factor, places), few places, such that weights * factor / 10**places read as the values."""
    low, high = (1 - UNREMARKED) / total, (1 + UNREMARKED) / total
    for weight, value in set(zip(weights, values, strict=True)):
        low = max(low, (Fraction(value) + Fraction(nextafter(value, 0))) / 2 / weight)
        high = min(high, (Fraction(value) + Fraction(nextafter(value, inf))) / 2 / weight)
    if low < high:
        first = max(len(str(int(1 / (high - low)))) - 1, 0)
        for places in range(first, MOST_DIGITS + 1):
            factor = int(low * 10**places) + 1
            if Fraction(factor, 10**places) < high:
                return factor, places
    raise InputError(
        f"a row of probabilities with denominator {total} cannot be written as decimals that read "
        "back as the same row"
    )


def float_probabilities(values: list[float]) -> list[str]:
    """A row known only in floats, printed to read back the same if any decimals do (`reads_as`)."""
    texts = [shortest(value) for value in values]
    if reads_as(texts, values):
        return texts
    rooms = [Fraction(value - nextafter(value, 0)) / 2 for value in values]
    off = Fraction(fsum([*values, -1.0])) / sum(rooms)
    context = Context(prec=DIGITS)
    chosen = [Fraction(v) - off * room for v, room in zip(values, rooms, strict=True)]
    longer = [str(context.divide(Decimal(c.numerator), Decimal(c.denominator))) for c in chosen]
    return longer if reads_as(longer, values) else texts


def reads_as(texts: list[str], values: list[float]) -> bool:
    """Whether decimals, divided by their sum, are these floats."""
    exact = [Fraction(text) for text in texts]
    total = sum(exact)
    return [float(p / total) for p in exact] == values
