"""Limits on the time and memory of planning, and the trace of progress rows.

Compiled code can be neither stopped nor interrupted, so it runs in parts of about 0.1 seconds, and
a planner calls `Clock.check` between them. The results do not depend on where the parts end. A
limit is an exception inside the planner and a `Status` outside: planners catch it and return their
best result so far. Compiling a kernel, too, ends at the limit, by the same exception.

A memory limit is a budget for the arrays of planning itself: the model's moves, the vectors and
points (or states and edges) that are kept, and the arrays of the next piece of work, counted from
their shapes before they are allocated. Python, its libraries, the source's tables and the fill-in
of sparse factorisations are not counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from rpsr.compile_limit import Cutoff, compiled_seconds
from rpsr.errors import InputError
from rpsr.kernels import interpreting
from rpsr.planning.autosave import Saving
from rpsr.planning.solution import Progress, ProgressRow, Solution, Status, silent

PART_SECONDS = 0.1  # how long a part of compiled work should take
FIRST_OPERATIONS = 2e7  # of a first part, before anything is measured: some hundredths of a second
OPERATIONS_A_SECOND = 1e9  # a guess, for work that cannot be divided
SLOWER = 200  # factor for an interpreted kernel
HURRY = 0.35  # seconds for a solution, after Ctrl-C and while planning (see `autosave`)
GROWTH = 4  # the largest ratio between a part and the one before


class LimitReached(Exception):
    """Raised inside a planner; `status` says which limit.

    unfit: the indivisible work that would not fit into the time left, or None.
    """

    def __init__(self, status: Status, unfit: str | None = None) -> None:
        super().__init__(status.value)
        self.status, self.unfit = status, unfit


class MemoryTooSmall(InputError):
    """A memory limit that planning on this model cannot keep at all."""


_UNSET = -1.0  # of a cutoff that follows from the time limit


def _out_of_time() -> LimitReached:
    return LimitReached(Status.TIME)


def no_cutoff() -> Cutoff:
    """For a clock whose time limit does not count compiling at all."""
    return Cutoff(_out_of_time)


def no_limits() -> Clock:
    """A clock without limits or progress."""
    return Clock(silent)


@dataclass
class Clock:
    """Time since planning began, the limits (seconds, bytes), and the rows of progress so far.

    held: bytes held during the whole run. cutoff: the end of the whole run, for all clocks of its
    parts; by default the time limit from now on. Compiling kernels counts there. It does not count
    in `seconds` and in the time limit of a part, so that what planners do within the limit, and
    without one, does not depend on which kernels were compiled before.
    """

    progress: Progress
    time_limit: float | None = None
    memory_limit: int | None = None
    held: int = 0
    began: float = field(default_factory=lambda: time.perf_counter() - compiled_seconds())
    rows: list[ProgressRow] = field(default_factory=list[ProgressRow])
    cutoff: Cutoff = field(default_factory=lambda: replace(no_cutoff(), end=_UNSET))

    def __post_init__(self) -> None:
        limit: Any = self.time_limit
        if limit is not None and not (isinstance(limit, float | int) and limit > 0):
            raise InputError(f"time limit: read {limit!r}, expected a number of seconds above 0")
        if self.memory_limit is not None and not self.memory_limit > 0:
            raise InputError(
                f"memory limit: read {self.memory_limit}, expected a number of bytes above 0"
            )
        if self.cutoff.end == _UNSET:
            self.cutoff.end = inf if limit is None else time.perf_counter() + limit

    @property
    def seconds(self) -> float:
        """Seconds since planning began, without compiling."""
        return time.perf_counter() - compiled_seconds() - self.began

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the deadline, above 0 even past it; None without a time limit."""
        left = self._left
        return None if left == inf else max(left, 1e-9)

    @property
    def _left(self) -> float:
        """Seconds until the deadline, below 0 past it; infinite without a time limit."""
        return self._left_at(self.seconds)

    def _left_at(self, now: float) -> float:
        """The same, where `seconds` is known."""
        left = inf if self.time_limit is None else self.time_limit - now
        return min(left, self.cutoff.end - time.perf_counter())

    @property
    def over(self) -> bool:
        """Whether the deadline has passed, for work that can return a partial result."""
        return self._left < 0

    def check(self) -> None:
        """Raise `LimitReached` past the deadline; save a solution if due (see `autosave`)."""
        if self.over:
            raise LimitReached(Status.TIME)
        if isinstance(self.progress, Saving):
            self.progress.look()

    def offer(self, make: Callable[[], Solution]) -> None:
        """Register how to make a solution of the current state (see `autosave`)."""
        if isinstance(self.progress, Saving):
            self.progress.offer(make)

    def foresee(self, operations: float, what: str = "one more step") -> None:
        """Raise `LimitReached` if indivisible work would last beyond the deadline."""
        left = self._left
        if operations / OPERATIONS_A_SECOND > left:
            raise LimitReached(Status.TIME, None if left < 0 else what)

    def share(self, part: float) -> Clock:
        """A clock for work that may take this part of the remaining time; other limits remain."""
        now = self.seconds
        left = self._left_at(now)
        if left == inf:
            return self
        return replace(self, time_limit=max(now + part * left, 1e-9))

    def hurried(self) -> Clock:
        """A clock for a solution of what there is, within `HURRY` seconds."""
        soon = self.seconds + HURRY
        return replace(
            self, time_limit=min(soon, soon if self.time_limit is None else self.time_limit)
        )

    def with_a_part(self) -> Clock:
        """A clock with time for at least one part of work, even past the deadline."""
        now = self.seconds
        if self._left_at(now) == inf:
            return self
        end = max(self.cutoff.end, time.perf_counter() + PART_SECONDS)
        limit = self.time_limit and max(self.time_limit, now + PART_SECONDS)
        return replace(self, time_limit=limit, cutoff=replace(self.cutoff, end=end))

    def parts(self, total: int, operations: float) -> Iterator[slice]:
        """Slices of range(total), each as much work as fits between two checks of the clock.

        operations: an estimate of the floating-point operations per element.
        """
        first = FIRST_OPERATIONS / (SLOWER if interpreting() else 1)
        size, begin = max(1, int(first / (1 + operations))), 0
        while begin < total:
            self.check()
            end, began = min(total, begin + size), time.perf_counter()
            yield slice(begin, end)
            took = max(time.perf_counter() - began, PART_SECONDS / GROWTH)
            size, begin = max(1, int(size * PART_SECONDS / took)), end

    def hold_model(self, size: int) -> None:
        """Count a model of this many bytes, or refuse one that exceeds the limit alone."""
        self.hold(size, "the model alone takes")

    def hold(self, size: int, what: str) -> None:
        """Count bytes that planning needs at the least, or refuse; what: "the ... takes"."""
        self.held += size
        if self.memory_limit is not None and self.held > self.memory_limit:
            raise MemoryTooSmall(
                f"memory limit: read {self.memory_limit} bytes, but {what} {self.held} bytes; "
                "give a larger limit"
            )

    def claim(self, size: int) -> None:
        """Raise `LimitReached` if this many bytes would not fit beside those held."""
        if size > self.bytes_left:
            raise LimitReached(Status.MEMORY)

    @property
    def bytes_left(self) -> float:
        """Bytes that fit beside those held; infinite without a memory limit."""
        return inf if self.memory_limit is None else self.memory_limit - self.held

    def report(self, row: ProgressRow) -> None:
        """Keep a row and pass it on."""
        self.rows.append(row)
        self.progress(row)
