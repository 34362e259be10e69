"""Everything `rpsr` raises on purpose.

A user who catches `RpsrError` catches every failure that is not a bug of the library. The message
is one line and names the place, what was read and what was expected.
"""

from __future__ import annotations


class RpsrError(Exception):
    """Base of every error raised on purpose."""


class InputError(RpsrError):
    """An input (a file, an array, a name) is at fault.

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
        return ":".join(where) + ": " + self.message if where else self.message


class DataError(InputError, ValueError):
    """A log, or a parameter of an estimator, is at fault.

    It is a `ValueError`, too, because that is what scikit-learn expects of estimators.
    """


class ModelError(RpsrError):
    """A question a model cannot answer, such as an exact one put to a model known in floats."""


class ImpossibleObservation(ModelError):
    """A filter met an observation that its model gives probability zero."""


class TimeLimitReached(RpsrError):
    """A limit on time ended a computation; the message names the limit and the phase."""
