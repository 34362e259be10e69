"""Limits on planning: how long, how much memory; and the trace of progress rows.

Compiled work can be neither stopped nor interrupted, so it is done in parts of about a tenth of a
second, and a planner asks `Clock.check` between them. What it computes does not depend on where the
parts end. A limit is an exception inside the planner and a `Status` outside: planners catch it and
return the best they have.

A memory limit is a budget for what planning itself allocates: the model's moves, the vectors and
points (or states and edges) that are kept, and the arrays of the piece of work ahead, counted from
their shapes before they are made. Python, its libraries, the source's own tables and what a sparse
factorisation fills in are not counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from rpsr.errors import InputError
from rpsr.kernels import compiled_seconds, interpreting
from rpsr.planning.keeping import Keeping
from rpsr.planning.solution import Progress, ProgressRow, Solution, Status, silent

PART_SECONDS = 0.1  # how long a part of compiled work should take
FIRST_OPERATIONS = 2e7  # of a first part, before anything is measured: some hundredths of a second
OPERATIONS_A_SECOND = 1e9  # a guess, for pieces of work that are begun or not, as a whole
SLOWER = 200  # times: a kernel that is interpreted
GROWTH = 4  # the next part is at most this many times as large


class LimitReached(Exception):
    """Raised inside a planner; `status` says which limit."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.value)
        self.status = status


def no_limits() -> Clock:
    """A clock that stops nothing, for work that nobody limits or watches."""
    return Clock(silent)


@dataclass
class Clock:
    """Time since planning began, the limits (seconds, bytes), and the rows of progress so far.

    held: bytes that are kept for good. Compiling kernels, which happens once on a machine, is not
    counted as planning: a limit of five seconds would otherwise leave a first run with nothing.
    """

    progress: Progress
    time_limit: float | None = None
    memory_limit: int | None = None
    held: int = 0
    began: float = field(default_factory=lambda: time.perf_counter() - compiled_seconds())
    rows: list[ProgressRow] = field(default_factory=list[ProgressRow])

    def __post_init__(self) -> None:
        limit: Any = self.time_limit
        if limit is not None and not (isinstance(limit, float | int) and limit > 0):
            raise InputError(f"time limit: read {limit!r}, expected seconds above 0")
        if self.memory_limit is not None and not self.memory_limit > 0:
            raise InputError(f"memory limit: read {self.memory_limit}, expected bytes above 0")

    @property
    def seconds(self) -> float:
        """Seconds since planning began, compiling left out."""
        return time.perf_counter() - compiled_seconds() - self.began

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the deadline, above 0 even past it; None where there is none."""
        left = None if self.time_limit is None else self.time_limit - self.seconds
        return None if left is None else max(left, 1e-9)

    @property
    def over(self) -> bool:
        """Whether the deadline has passed, for work that ends with what it has by then."""
        return self.time_limit is not None and self.seconds > self.time_limit

    def check(self) -> None:
        """Raise `LimitReached` past the deadline; keep what there is where that is due."""
        if self.over:
            raise LimitReached(Status.TIME)
        if isinstance(self.progress, Keeping):
            self.progress.look()

    def offer(self, make: Callable[[], Solution]) -> None:
        """Say how to make a solution of what there is, at any look at the clock (see `keeping`)."""
        if isinstance(self.progress, Keeping):
            self.progress.offer(make)

    def foresee(self, operations: float) -> None:
        """Raise `LimitReached` where a piece of work that cannot be divided would be too long."""
        ends = self.seconds + operations / OPERATIONS_A_SECOND
        if self.time_limit is not None and ends > self.time_limit:
            raise LimitReached(Status.TIME)

    def share(self, part: float) -> Clock:
        """A clock for a piece of work that may take this part of the time that is left."""
        if self.time_limit is None:
            return self
        now = self.seconds
        limit = max(now + part * (self.time_limit - now), 1e-9)
        return Clock(self.progress, limit, began=self.began)

    def parts(self, total: int, operations: float) -> Iterator[slice]:
        """Slices of range(total), each as much work as fits between two looks at the clock.

        operations: a guess of how many floating-point operations one piece takes.
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
        """Count a model of this many bytes, or refuse it where it alone does not fit."""
        self.hold(size, "the model alone takes")

    def hold(self, size: int, what: str) -> None:
        """Count bytes without which planning cannot begin, or refuse; what: "the ... takes"."""
        self.held += size
        if self.memory_limit is not None and self.held > self.memory_limit:
            raise InputError(
                f"memory limit: read {self.memory_limit}, but {what} {self.held} bytes"
            )

    def claim(self, size: int) -> None:
        """Raise `LimitReached` where this many bytes would not fit beside what is held."""
        if self.memory_limit is not None and self.held + size > self.memory_limit:
            raise LimitReached(Status.MEMORY)

    def report(self, row: ProgressRow) -> None:
        """Keep a row and pass it on."""
        self.rows.append(row)
        self.progress(row)
