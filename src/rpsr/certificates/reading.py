"""The text of a certificate: one JSON value per line, with numbers that are read exactly.

The first line is an object, the header. Every other line is an object with one key, which says
what the line is. So a long certificate is read and converted line by line, and the header's counts
show whether the file is complete.

A whole number is a JSON integer or a string with a hexadecimal one, "0x1f". A number is a whole
number, a decimal, a fraction "22/7" or a hexadecimal float "0x1.8p-3".
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterable, Iterator, MutableSequence, Sequence
from fractions import Fraction
from itertools import chain
from math import inf, nextafter
from pathlib import Path
from typing import Any

from rpsr.errors import InputError
from rpsr.io.files import place_of, read_lines, write_parts
from rpsr.printable import quoted

FAMILY = "rpsr.certificate/"
SCHEMA = f"{FAMILY}2"
DIGITS = 4000  # of a number at most; Python reads no longer ones by default
LARGEST = 10**300  # of a statement, so that floats can show it
_DECIMAL = re.compile(rf"[-+]?\d{{1,{DIGITS}}}(\.\d{{1,{DIGITS}}})?([eE][-+]?\d{{1,3}})?", re.ASCII)
_FRACTION = re.compile(rf"[-+]?\d{{1,{DIGITS}}}/0*[1-9]\d{{0,{DIGITS}}}", re.ASCII)
_HEXADECIMAL = re.compile(rf"[-+]?0x[0-9a-f]{{1,{DIGITS}}}", re.IGNORECASE)
_HEXADECIMAL_FLOAT = re.compile(
    r"([-+]?0x[01])(?:\.([0-9a-f]{1,13}))?p([-+]?\d{1,4})", re.IGNORECASE | re.ASCII
)

Line = tuple[str, Any]


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


class Fault(InputError):
    """A certificate that proves nothing: the message says where it fails."""


class Reader:
    """A certificate that is read line by line. size: the bytes of text read so far."""

    def __init__(self, path: str | Path) -> None:
        self._place, self._lines, self._number = place_of(path), read_lines(path), 0
        self.size = 0

    def header(self) -> dict[str, Any]:
        """The first line."""
        header = self._next()
        schema = None if header is None else header.get("schema")
        if isinstance(schema, str) and schema != SCHEMA and schema.startswith(FAMILY):
            raise InputError(
                f"the certificate was written by another version of rpsr (read schema "
                f"{quoted(schema)}, expected {SCHEMA}); write the certificate again",
                place=self._place,
            )
        if header is None or schema != SCHEMA:
            raise InputError(
                f"the file is not a certificate: expected a header with the schema {SCHEMA}",
                place=self._place,
            )
        return header

    def lines(self) -> Iterator[Line]:
        """All other lines, as (key, value)."""
        while (value := self._next()) is not None:
            if len(value) != 1:
                raise self._wrong("expected an object with one key")
            yield next(iter(value.items()))

    def _next(self) -> dict[str, Any] | None:
        line = next(self._lines, None)
        if line is None:
            return None
        self.size += len(line)
        self._number += 1
        try:
            value = json.loads(
                line,
                parse_float=_decimal,
                parse_constant=_decimal,
                object_pairs_hook=_without_duplicates,
            )
        except Fault as fault:
            raise self._wrong(fault.message) from None
        except (ValueError, RecursionError):
            damaged = "the line is not JSON: the certificate is damaged or cut off"
            raise self._wrong(damaged) from None
        if not isinstance(value, dict):
            raise self._wrong("expected a JSON object")
        return value

    def _wrong(self, message: str) -> InputError:
        return InputError(message, place=self._place, line=self._number)


def write_lines(path: str | Path, header: dict[str, Any], lines: Iterable[Line]) -> int:
    """Write a certificate, compressed if the name ends in `.gz`; returns the bytes of its text."""
    size = 0

    def texts() -> Iterator[bytes]:
        nonlocal size
        values = ({key: value} for key, value in lines)
        for value in chain([{"schema": SCHEMA, **header}], values):
            text = json.dumps(value, separators=(",", ":")).encode() + b"\n"
            size += len(text)
            yield text

    write_parts(path, texts())
    return size


def _without_duplicates(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; of a key that is given twice, another reader might take the other value."""
    read = dict(members)
    if len(read) < len(members):
        raise Fault("a key is given twice in one JSON object")
    return read


def _decimal(text: str) -> Fraction:
    if _DECIMAL.fullmatch(text) is None:
        raise ValueError(text)
    return Fraction(text)


def number(value: Any, what: str) -> Fraction:
    """A number, exactly."""
    parsed = _number(value)
    if parsed is None or abs(parsed) > LARGEST:
        raise Fault(f"{what}: read {shown(value)}, expected a number from -1e300 to 1e300")
    return parsed


def _number(value: Any) -> Fraction | None:
    if isinstance(value, int | Fraction) and not isinstance(value, bool):
        return Fraction(value)
    if isinstance(value, str):
        if _DECIMAL.fullmatch(value) or _FRACTION.fullmatch(value):
            return Fraction(value)
        if _HEXADECIMAL.fullmatch(value):
            return Fraction(int(value, 16))
        if hexadecimal := _HEXADECIMAL_FLOAT.fullmatch(value):
            first, digits, exponent = hexadecimal.groups(default="")
            return int(first + digits, 16) * Fraction(2) ** (int(exponent) - 4 * len(digits))
    return None


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


def whole_list(value: Any, what: str, size: int, **limits: Any) -> list[int]:
    """A list of whole numbers of a given length."""
    if not isinstance(value, list) or len(value) != size:
        raise Fault(f"{what}: expected a list of {size} whole numbers")
    return [whole(item, what, **limits) for item in value]


def pairs(value: Any, what: str, below: int) -> Pairs:
    """A list of [index, amount]: indices less than `below`, amounts that are not negative."""
    if not isinstance(value, list):
        raise Fault(f"{what}: expected a list of pairs of an index and a number")
    indices, amounts = list[int](), list[int]()
    for item in value:
        if not isinstance(item, list) or len(item) != 2:
            raise Fault(f"{what}: expected a list of pairs of an index and a number")
        indices.append(whole(item[0], what, below=below))
        amounts.append(whole(item[1], what))
    return Columns(compact(indices), compact(amounts))


def compact(numbers: list[int]) -> MutableSequence[int]:
    """The same numbers, in 8 bytes each if they are not too large: a list takes five times that."""
    try:
        return array("q", numbers)
    except OverflowError:
        return numbers


def as_float(value: Fraction) -> float:
    """A fraction for people; infinite beyond the range of floats."""
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


def shown(value: Any) -> str:
    """A value that was read, as text for a message."""
    if isinstance(value, int | Fraction) and not isinstance(value, bool):
        return f"{as_float(Fraction(value)):.12g}"
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
