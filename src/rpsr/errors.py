"""Everything `rpsr` raises on purpose.

A user who catches `RpsrError` catches every failure that is not a bug of the library. The message
is one line and names the place, what was read and what was expected.
"""

from __future__ import annotations

LONGEST = 2000  # characters of a message
_END = 500  # of these, at the end, where a message says what to do


def one_line(text: str) -> str:
    r"""A message as one line of limited length, whatever a file has put into it.

    Line breaks become spaces, other control characters are escaped: \x1b, \u202e.
    """
    if not text.isprintable():
        text = " ".join(text.splitlines())
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - _END]} ... {text[-_END:]}"


class RpsrError(Exception):
    """Base of every error raised on purpose. Its text is one line."""

    def __str__(self) -> str:
        return one_line(super().__str__())


class InputError(RpsrError):
    """An input (a file, an array, a name) is wrong.

    `place` is a file name, `line` and `column` count from one; any of them may be missing.
    """

    def __init__(
        self,
        message: str,
        *,
        place: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.line = line
        self.column = column

    def __str__(self) -> str:
        where = [str(part) for part in (self.place, self.line, self.column) if part is not None]
        return one_line(":".join(where) + ": " + self.message if where else self.message)


class DataError(InputError, ValueError):
    """A log, or a parameter of an estimator, is at fault.

    It is a `ValueError`, too, because that is what scikit-learn expects of estimators.
    """


class ModelError(RpsrError):
    """The model cannot answer the question, such as an exact one where it holds only floats."""


class ImpossibleObservation(ModelError):
    """A filter received an observation that has probability zero in its model."""


class TimeLimitReached(RpsrError):
    """A time limit ended a computation; the message names the limit and the phase."""


class SchedulerLost(RpsrError):
    """The scheduler that spread work over machines ended before the work did."""
