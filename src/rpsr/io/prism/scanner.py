"""Phrases of a PRISM file, matched as a whole and explained step by step.

A file has tens of thousands of commands of a few shapes. Each shape is a `Phrase`: one regular
expression, which reads fast, and the steps it is made of, which say what was expected where it
does not match.
"""

from __future__ import annotations

import re

from rpsr.errors import InputError
from rpsr.io.foreign import EXPLICIT_ONLY, STORM_BUILDS
from rpsr.io.tokens import error_at
from rpsr.printable import quoted

_COMMENT = re.compile(rb"//[^\r\n]*")
_SPACE = re.compile(rb"\s*")
_WORD = re.compile(rb"\w+'?|\"[^\"\n]*\"|->|\.\.|.", re.S)


class OutsideExplicit(InputError):
    """The file is, or may be, a PRISM model beyond the explicit form; Storm may build it."""


class Phrase:
    """Steps, each a pattern and what a message calls it, with spaces between them."""

    def __init__(self, *steps: tuple[str, str]) -> None:
        self.steps = [(re.compile(pattern.encode()), expected) for pattern, expected in steps]
        self.whole = re.compile(rb"\s*" + rb"\s*".join(step.pattern for step, _ in self.steps))

    def fault(self, text: bytes, at: int) -> tuple[int, str]:
        """Where a text that does not match first differs, and what was expected there."""
        for step, expected in self.steps:
            at = _after(_SPACE.match(text, at))
            match = step.match(text, at)
            if match is None:
                return at, expected
            at = match.end()
        raise AssertionError("all steps match, so the phrase does")


class Scanner:
    """A position in a text without comments."""

    def __init__(self, text: bytes, place: str) -> None:
        self.text = _COMMENT.sub(lambda comment: b" " * len(comment[0]), text)
        self.place = place
        self.at = 0

    def take(self, phrase: Phrase) -> re.Match[bytes]:
        """The phrase at this position; the position moves behind it."""
        match = phrase.whole.match(self.text, self.at)
        if match is None:
            at, expected = phrase.fault(self.text, self.at)
            raise self.outside(at, f"read {self.shown(at)}, expected {expected}")
        self.at = match.end()
        return match

    def peek(self) -> bytes:
        """The next word or mark; empty at the end of the file."""
        self.at = _after(_SPACE.match(self.text, self.at))
        match = _WORD.match(self.text, self.at)
        return b"" if match is None else match[0]

    def shown(self, at: int) -> str:
        """The word at an offset, for a message."""
        match = _WORD.match(self.text, at)
        if match is None:
            return "the end of the file"
        return quoted(match[0].decode("utf-8", "backslashreplace"))

    def error(self, at: int, message: str) -> InputError:
        """An error at an offset."""
        return error_at(self.text, at, message, self.place)

    def outside(self, at: int, message: str) -> OutsideExplicit:
        """An error that says how models beyond the explicit form can be read."""
        inner = self.error(at, f"{message}; {EXPLICIT_ONLY}; {STORM_BUILDS}")
        return OutsideExplicit(
            inner.message, place=inner.place, line=inner.line, column=inner.column
        )


def _after(match: re.Match[bytes] | None) -> int:
    assert match is not None
    return match.end()
