"""The text of a certificate: one JSON value per line, with numbers that are read exactly.

The first line is an object, the header. Every other line is an object with one key, which says
what the line is. So a long certificate is read and converted line by line, and the header's counts
show whether the file is complete.

A whole number is a JSON integer or a string with a hexadecimal one, "0x1f": either takes about as
much memory as its text. A number is a whole number, a decimal, a fraction "22/7" or a hexadecimal
float "0x1.8p-3".
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterator, MutableSequence, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from rpsr.errors import InputError
from rpsr.io.files import read_lines
from rpsr.io.float_bounds import as_float
from rpsr.printable import quoted

FAMILY = "rpsr.certificate/"
SCHEMA = f"{FAMILY}2"
LARGEST = 10**300  # of a statement, so that floats can show it
_DIGITS = "{1,4000}"  # of a number at most; by default, Python reads and prints no longer ones
_HEXADECIMAL_DIGITS = "{1,3300}"  # which are no more than 4000 decimal ones
_DECIMAL = re.compile(
    rf"[-+]?\d{_DIGITS}(/(?!0+$)\d{_DIGITS}|(\.\d{_DIGITS})?(e[-+]?\d{{1,3}})?)",
    re.IGNORECASE | re.ASCII,
)
_HEXADECIMAL = re.compile(rf"[-+]?0x[0-9a-f]{_HEXADECIMAL_DIGITS}", re.IGNORECASE)
_HEXADECIMAL_FLOAT = re.compile(
    r"([-+]?0x[01])(?:\.([0-9a-f]{1,13}))?p([-+]?\d{1,4})", re.IGNORECASE | re.ASCII
)

Line = tuple[str, Any]


class Fault(InputError):
    """A certificate that proves nothing: the message says where it fails."""


# ---- lines


class Reader:
    """A certificate that is read line by line. size: the bytes of text read so far."""

    def __init__(self, path: str | Path) -> None:
        self.size, self._objects = 0, self._read(path)

    def _read(self, path: str | Path) -> Iterator[dict[str, Any]]:
        for place, text in enumerate(read_lines(path), start=1):
            self.size += len(text)
            try:
                value = json.loads(
                    text,
                    parse_float=_decimal,
                    parse_constant=_decimal,
                    object_pairs_hook=_without_duplicates,
                )
            except Fault as fault:
                raise Fault(fault.message, line=place) from None
            except (ValueError, RecursionError):
                damaged = "the line is not JSON: the certificate is damaged or cut off"
                raise Fault(damaged, line=place) from None
            if not isinstance(value, dict):
                raise Fault("expected a JSON object", line=place)
            if place > 1 and len(value) != 1:
                raise Fault("expected an object with one key", line=place)
            yield value

    def header(self) -> dict[str, Any]:
        """The first line."""
        header = next(self._objects, dict[str, Any]())
        schema = header.get("schema")
        if isinstance(schema, str) and schema != SCHEMA and schema.startswith(FAMILY):
            raise Fault(
                f"the certificate was written by another version of rpsr (read schema "
                f"{quoted(schema)}, expected {SCHEMA}); write the certificate again"
            )
        if schema != SCHEMA:
            raise Fault(
                f"the file is not a certificate: expected a header with the schema {SCHEMA}"
            )
        return header

    def lines(self) -> Iterator[Line]:
        """All other lines, as (key, value)."""
        for value in self._objects:
            yield from value.items()


def _decimal(text: str) -> Fraction:
    if _DECIMAL.fullmatch(text) is None:
        raise ValueError(text)
    return Fraction(text)


def _without_duplicates(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; of a key that is given twice, another reader might take the other value."""
    read = dict(members)
    if len(read) < len(members):
        raise Fault("a key is given twice in one JSON object")
    return read


# ---- numbers


def _exact(value: Any) -> int | Fraction | None:
    """A number; None if it is none."""
    if isinstance(value, int | Fraction) and not isinstance(value, bool):
        return value
    if not isinstance(value, str):
        return None
    if _DECIMAL.fullmatch(value):
        return Fraction(value)
    if _HEXADECIMAL.fullmatch(value):
        return int(value, 16)
    if hexadecimal := _HEXADECIMAL_FLOAT.fullmatch(value):
        first, digits, exponent = hexadecimal.groups(default="")
        return int(first + digits, 16) * Fraction(2) ** (int(exponent) - 4 * len(digits))
    return None


def number(value: Any, what: str) -> Fraction:
    """A number, exactly."""
    exact = _exact(value)
    if exact is None or abs(exact) > LARGEST:
        raise Fault(f"{what}: read {shown(value)}, expected a number from -1e300 to 1e300")
    return Fraction(exact)


def whole(value: Any, what: str, *, below: int | None = None, least: int | None = 0) -> int:
    """A whole number, from `least` on (None: any) and less than `below`."""
    if isinstance(value, str) and _HEXADECIMAL.fullmatch(value):
        value = int(value, 16)
    if not isinstance(value, int) or isinstance(value, bool):
        raise Fault(f"{what}: read {shown(value)}, expected a whole number")
    if (least is not None and value < least) or (below is not None and value >= below):
        limits = f"from {least}" if below is None else f"from {least} to {below - 1}"
        raise Fault(f"{what}: read {shown(value)}, expected a whole number {limits}")
    return value


def shown(value: Any) -> str:
    """A value that was read, as text for a message."""
    if isinstance(value, int | Fraction) and not isinstance(value, bool):
        return f"{as_float(Fraction(value)):.12g}"
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


# ---- objects and lists


def members(value: Any, what: str, keys: set[str]) -> dict[str, Any]:
    """An object with these keys."""
    if not isinstance(value, dict) or set(value) != keys:
        raise Fault(f"{what}: expected an object with the keys {', '.join(sorted(keys))}")
    return value


def items(value: Any, what: str, of: str, size: int | None = None) -> list[Any]:
    """A list, of a given length. of: what it holds, for the message."""
    if not isinstance(value, list) or size not in (None, len(value)):
        raise Fault(f"{what}: expected a list of {'' if size is None else f'{size} '}{of}")
    return value


def whole_list(value: Any, what: str, size: int, **limits: Any) -> list[int]:
    """A list of whole numbers of a given length."""
    return [whole(item, what, **limits) for item in items(value, what, "whole numbers", size)]


# ---- lists that take little memory


def compact(numbers: list[int]) -> MutableSequence[int]:
    """The same numbers, in 8 bytes each if they are not too large: a list takes five times that."""
    try:
        return array("q", numbers)
    except OverflowError:
        return numbers


class Columns:
    """Pairs of numbers as two columns."""

    __slots__ = ("_first", "_second")

    def __init__(self, first: Sequence[int], second: Sequence[int]) -> None:
        self._first, self._second = first, second

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self._first, self._second, strict=True)

    def __len__(self) -> int:
        return len(self._first)


Pairs = list[tuple[int, int]] | Columns


def pairs(value: Any, what: str, below: int) -> Pairs:
    """A list of [index, amount]: indices less than `below`, amounts that are not negative."""
    indices, amounts = list[int](), list[int]()
    for item in items(value, what, "pairs of an index and a number"):
        index, amount = items(item, what, "entries: an index and a number", 2)
        indices.append(whole(index, what, below=below))
        amounts.append(whole(amount, what))
    return Columns(compact(indices), compact(amounts))
