"""A limit on time that reaches every phase of a computation without being passed to each.

`time_limit(seconds)` sets it for what runs inside, `begin(phase)` says what is being done, and
`check()`, between pieces of work, raises `TimeLimitReached` past the limit. Where no limit is set,
nothing is checked. Most pieces take a tenth of a second or less. A factorisation of a dense matrix
cannot be cut into pieces: whoever is about to make one says how many operations it takes, and it is
not begun if even a fast machine could not end it in time.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from rpsr.errors import InputError, TimeLimitReached

PIECE = 2**26  # operations of compiled work between two looks at the clock
OPERATIONS_PER_SECOND = 3e10  # of dense linear algebra


@dataclass
class _Deadline:
    seconds: float
    end: float
    phase: str


_current: ContextVar[_Deadline | None] = ContextVar("_current", default=None)


def now() -> float:
    """Seconds on a clock that stands still while kernels are compiled, once on a machine."""
    from rpsr.kernels import compiled_seconds

    return time.perf_counter() - compiled_seconds()


@contextmanager
def time_limit(seconds: float | None) -> Generator[None]:
    """Within it, work ends after so many seconds; None leaves things as they are."""
    if seconds is None:
        yield
        return
    if not 0 < seconds < float("inf"):
        raise InputError(f"time limit: read {seconds}, expected finite seconds above 0")
    token = _current.set(_Deadline(seconds, now() + seconds, "reading the model"))
    try:
        yield
    finally:
        _current.reset(token)


def begin(phase: str) -> None:
    """Say what is done from here on, as in "stopped while ..."; and look at the clock."""
    deadline = _current.get()
    if deadline is not None:
        deadline.phase = phase
        check()


def check(operations: float = 0.0) -> None:
    """Raise `TimeLimitReached` past the limit, or if so many dense operations would pass it."""
    deadline = _current.get()
    if deadline is None:
        return
    limit = f"the time limit of {deadline.seconds:g} seconds"
    left = deadline.end - now()
    if left < 0:
        raise TimeLimitReached(f"{limit} was reached while {deadline.phase}")
    if operations > left * OPERATIONS_PER_SECOND:
        raise TimeLimitReached(f"{limit} would be passed while {deadline.phase}")
