"""How long a thread waits for the compiler: until a deadline or Ctrl-C, if it has set a cutoff.

A kernel that is not compiled by then raises what the cutoff makes, so that the work ends in time.
Where kernels do little, it is interpreted instead. A cutoff belongs to the thread (more precisely,
to the context) that set it.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import inf


class NotCompiled(Exception):
    """A kernel is not compiled, and there is no time left for it."""


@dataclass
class Cutoff:
    """When to stop waiting: at `end` on `time.perf_counter`, or once it was `stopped`.

    reached: makes the exception of a kernel that is not ready then. unfinished: whether there was
    one. seconds: waited for the compiler so far.
    """

    reached: Callable[[], Exception]
    end: float = inf
    stopped: bool = False
    unfinished: bool = False
    seconds: float = 0.0

    @property
    def left(self) -> float:
        """Seconds until then, 0 if it has passed."""
        return 0.0 if self.stopped else max(self.end - time.perf_counter(), 0.0)


_cutoff: ContextVar[Cutoff | None] = ContextVar("_cutoff", default=None)
_interpret: ContextVar[bool] = ContextVar("_interpret", default=False)
_waited = threading.local()


@contextmanager
def compiling_until(cutoff: Cutoff | None, *, interpret: bool = False) -> Generator[None]:
    """Inside, kernels are compiled until the cutoff only; None: however long it takes.

    interpret: whether those that are missing then are interpreted instead of raising an exception.
    """
    tokens = _cutoff.set(cutoff), _interpret.set(interpret)
    try:
        yield
    finally:
        _cutoff.reset(tokens[0])
        _interpret.reset(tokens[1])


def current_cutoff() -> Cutoff | None:
    """The cutoff of this thread, if it has one."""
    return _cutoff.get()


def exception_for_missing() -> Exception | None:
    """What a kernel raises that is not ready at the cutoff; None if it is interpreted."""
    cutoff = _cutoff.get()
    assert cutoff is not None, "without a cutoff, kernels are compiled"
    cutoff.unfinished = True
    return None if _interpret.get() else cutoff.reached()


def count_waiting(seconds: float) -> None:
    """Add to the time that this thread has waited for the compiler."""
    _waited.seconds = compiled_seconds() + seconds
    cutoff = _cutoff.get()
    if cutoff is not None:
        cutoff.seconds += seconds


def compiled_seconds() -> float:
    """Seconds that this thread has waited for the compiler."""
    return getattr(_waited, "seconds", 0.0)


def still_compiling() -> bool:
    """Whether the compiler is at work on a kernel that nobody waits for any more."""
    thread = sys.modules.get("rpsr.compile_thread")
    return thread is not None and thread.running()
