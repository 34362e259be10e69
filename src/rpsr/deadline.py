"""A time limit that holds in every phase of a computation without being passed to each.

`time_limit(seconds)` sets the limit for the code inside it, `begin(phase)` names the current phase,
and `check()`, called between pieces of work, raises `TimeLimitReached` once the limit has passed.
Without a limit, nothing is checked. Most pieces take a tenth of a second or less. Factorising a
dense matrix cannot be split into pieces: the caller first states the number of operations, and the
work is not begun if even a fast machine could not finish it in time.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from rpsr.errors import InputError, TimeLimitReached

PIECE = 2**26  # operations of compiled work between two checks of the clock
OPERATIONS_PER_SECOND = 3e10  # of dense linear algebra


@dataclass
class _Deadline:
    seconds: float
    end: float
    phase: str


_current: ContextVar[_Deadline | None] = ContextVar("_current", default=None)


def now() -> float:
    """Seconds on a clock that stops while kernels are compiled (once per machine)."""
    from rpsr.compile_limit import compiled_seconds

    return time.perf_counter() - compiled_seconds()


@contextmanager
def time_limit(seconds: float | None) -> Generator[None]:
    """Limit the work inside to this many seconds; None adds no limit."""
    if seconds is None:
        yield
        return
    if not 0 < seconds < float("inf"):
        raise InputError(f"time limit: read {seconds}, expected a finite number of seconds above 0")
    token = _current.set(_Deadline(seconds, now() + seconds, "reading the model"))
    try:
        yield
    finally:
        _current.reset(token)


def begin(phase: str) -> None:
    """Name the phase that begins, as in "stopped while ...", and check the clock."""
    deadline = _current.get()
    if deadline is not None:
        deadline.phase = phase
        check()


def check(operations: float = 0.0) -> None:
    """Raise `TimeLimitReached` past the limit, or if this many dense operations would pass it."""
    deadline = _current.get()
    if deadline is None:
        return
    limit = f"the time limit of {deadline.seconds:g} seconds"
    left = deadline.end - now()
    if left < 0:
        raise TimeLimitReached(f"{limit} was reached while {deadline.phase}")
    if operations > left * OPERATIONS_PER_SECOND:
        raise TimeLimitReached(f"{limit} would be exceeded while {deadline.phase}")
