"""Limits on planning: how long, how much memory; and the trace of progress rows.

A planner asks `Clock.check` between chunks of compiled work. A limit is an exception inside the
planner and a `Status` outside: planners catch it and return the best they have.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from rpsr.errors import InputError
from rpsr.planning.solution import Progress, ProgressRow, Status


class LimitReached(Exception):
    """Raised inside a planner; `status` says which limit."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.value)
        self.status = status


@dataclass
class Clock:
    """Time since planning began, the limits (seconds, bytes), and the rows of progress so far."""

    progress: Progress
    time_limit: float | None = None
    memory_limit: int | None = None
    began: float = field(default_factory=time.perf_counter)
    rows: list[ProgressRow] = field(default_factory=list[ProgressRow])

    def __post_init__(self) -> None:
        if self.time_limit is not None and not self.time_limit > 0:
            raise InputError(f"time limit: read {self.time_limit}, expected seconds above 0")

        if self.memory_limit is not None and not self.memory_limit > 0:
            raise InputError(f"memory limit: read {self.memory_limit}, expected bytes above 0")

    @property
    def seconds(self) -> float:
        """Seconds since planning began."""
        return time.perf_counter() - self.began

    def check(self) -> None:
        """Raise `LimitReached` past the deadline."""
        if self.time_limit is not None and self.seconds > self.time_limit:
            raise LimitReached(Status.TIME)

    def claim(self, size: int) -> None:
        """Raise `LimitReached` where work of so many bytes would not fit."""
        if self.memory_limit is not None and size > self.memory_limit:
            raise LimitReached(Status.MEMORY)

    def report(self, row: ProgressRow) -> None:
        """Keep a row and pass it on."""
        self.rows.append(row)
        self.progress(row)
