"""Tokens of a `.pomdp` file, interned.

A model file has millions of tokens and few distinct ones. Splitting, interning and numbering them
runs in C without a Python step per token. Each distinct token is then interpreted once, in exact
arithmetic; all further work is array indexing. Positions (line and column) are computed only for
errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import islice

import numpy as np

from rpsr.errors import InputError
from rpsr.io.records import Bools, Floats, Integers, Ints
from rpsr.printable import quoted

_COMMENT = re.compile(rb"#[^\r\n]*")
# The classic grammar lets a sign stand apart from its number: `- 5`.
_LONE_SIGN = re.compile(rb"(?<![^\s:])([+-])[ \t]+(?=[.\d])")
_TOKEN = re.compile(rb":|[+-][ \t]+(?=[.\d])[^\s:]+|[^\s:]+")
_NUMBER = re.compile(rb"([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?")
_LINE_END = re.compile(rb"\r\n|\r|\n")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")
_CONTROL_BYTES = bytes(b for b in range(128) if _CONTROL.match(bytes([b])))
MOST_DIGITS = 400  # after the point, and the largest power of ten: beyond any float
LONGEST_NUMBER = 1000  # characters: room for MOST_DIGITS after the point and a float before it


def parse_decimal(token: bytes) -> tuple[int, int] | None:
    """A number as (mantissa, digits), its value being mantissa / 10**digits; None for a name.

    A number that is too long, or that a float would round to infinity or zero, is treated as no
    number.
    """
    match = _NUMBER.fullmatch(token) if len(token) <= LONGEST_NUMBER else None
    if match is None:
        return None
    sign, whole, part, power = match.groups(default=b"")
    if not whole and not part:
        return None
    exponent = int(power or 0)
    digits = len(part) - exponent
    if abs(exponent) > MOST_DIGITS or digits > MOST_DIGITS:
        return None
    mantissa = int(whole + part) * (-1 if sign == b"-" else 1)
    if mantissa and not 0 < abs(float(token)) < float("inf"):
        return None
    return (mantissa, digits) if digits >= 0 else (mantissa * 10**-digits, 0)


def is_name(token: bytes) -> bool:
    """Whether a token may name something: a lone sign belongs to the number after it."""
    return token not in (b"*", b":", b"+", b"-") and parse_decimal(token) is None


@dataclass(frozen=True, eq=False)
class Tokens:
    """The tokens of one text. `ids` (N,) index the distinct `words`; tables are by word."""

    text: bytes
    place: str
    words: list[bytes]
    ids: Ints

    def id_of(self, word: bytes) -> int:
        """The id of a word, -1 where the text does not have it."""
        return self._numbers.get(word, -1)

    @cached_property
    def _numbers(self) -> dict[bytes, int]:
        return {word: i for i, word in enumerate(self.words)}

    @cached_property
    def decimals(self) -> list[tuple[int, int] | None]:
        """(mantissa, digits) of each word that is a number."""
        return [parse_decimal(word) for word in self.words]

    @cached_property
    def is_number(self) -> Bools:
        """Which words are numbers."""
        return np.array([d is not None for d in self.decimals], dtype=np.bool_)

    @cached_property
    def values(self) -> Floats:
        """Each word as a float, correctly rounded; NaN where it is no number."""
        return np.array(
            [
                float("nan") if decimal is None else float(word)
                for word, decimal in zip(self.words, self.decimals, strict=True)
            ]
        )

    @cached_property
    def mantissas(self) -> Integers:
        """Mantissas by word (0 for names): int64 where all of them fit, else Python integers."""
        values = [0 if d is None else d[0] for d in self.decimals]
        wide = any(abs(v) >= 10**18 for v in values) or int(self.digits.max(initial=0)) > 18
        return np.array(values, dtype=object if wide else np.int64)

    @cached_property
    def digits(self) -> Ints:
        """Decimal digits by word (0 for names)."""
        return np.array([0 if d is None else d[1] for d in self.decimals], dtype=np.int64)

    def fraction(self, word: int) -> Fraction:
        """A number as an exact fraction."""
        decimal = self.decimals[word]
        assert decimal is not None
        return Fraction(decimal[0], 10 ** decimal[1])

    def show(self, at: int) -> str:
        """The token at a place in the text, quoted for an error, or 'the end of the file'."""
        if at >= len(self.ids):
            return "the end of the file"
        word = self.words[int(self.ids[at])].decode("utf-8", "backslashreplace")
        return quoted(word)

    def error(self, at: int, message: str) -> InputError:
        """An error at the token numbered `at` (the end of the text if there is none)."""
        match = next(self._matches(at, at + 1), None)
        offset = len(self.text) if match is None else match.start()
        return error_at(self.text, offset, message, self.place)

    def lines_of(self, first: int, end: int) -> Ints:
        """The line of each token from `first` to before `end`, counted from 1; for errors."""
        starts = np.fromiter((match.start() for match in self._matches(first, end)), np.int64)
        ends = np.fromiter((match.end() for match in _LINE_END.finditer(self.text)), np.int64)
        return 1 + np.searchsorted(ends, starts, side="right")

    def _matches(self, first: int, end: int) -> Iterator[re.Match[bytes]]:
        text = _COMMENT.sub(lambda comment: b" " * len(comment[0]), self.text)
        return islice(_TOKEN.finditer(text), first, end)


def error_at(text: bytes, offset: int, message: str, place: str) -> InputError:
    """An error at a byte offset, as line and column (in characters, as editors count them)."""
    lines = (text[:offset] + b"|").splitlines()
    column = len(lines[-1].decode("utf-8", "replace"))
    return InputError(message, place=place, line=len(lines), column=column)


def tokenize(text: bytes, place: str) -> Tokens:
    """Split a text into tokens: words, numbers, `*` and `:`, comments removed."""
    text = text.removeprefix(b"\xef\xbb\xbf")
    if len(text.translate(None, _CONTROL_BYTES)) != len(text):
        control = _CONTROL.search(text)
        assert control is not None
        byte = control[0][0]
        message = f"read the byte 0x{byte:02x}, expected text: is this a binary file?"
        raise error_at(text, control.start(), message, place)
    bare = _COMMENT.sub(b"", text) if b"#" in text else text
    split = bare.replace(b":", b" : ").split()
    distinct = dict.fromkeys(split)
    if b"+" in distinct or b"-" in distinct:
        split = _LONE_SIGN.sub(rb"\1", bare).replace(b":", b" : ").split()
        distinct = dict.fromkeys(split)
    numbers = {word: i for i, word in enumerate(distinct)}
    ids = np.fromiter(map(numbers.__getitem__, split), np.int64, len(split))
    return Tokens(text=text, place=place, words=list(numbers), ids=ids)
