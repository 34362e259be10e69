"""Intermediate solutions are saved during planning, so that a killed run loses little.

A `Keeping` is given to a planner as its progress. The planner registers once how to make a solution
of its current state (`Clock.offer`). At the first check of the clock after each period, the
solution is made and passed to `keep`, which may write it to a file:

    solve(model, "sarsop", progress=Keeping(lambda so_far: save_checkpoint(so_far, "run.ckpt")))

This is the solution that Ctrl-C would give at that moment: its status is `INTERRUPTED`, and its
bounds hold. Keeping does not change the plan.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from rpsr.planning.solution import Progress, ProgressRow, Solution, silent

EVERY = 60.0  # seconds between two solutions


@dataclass
class Keeping:
    """Progress that passes the current solution to `keep` at a fixed interval of seconds.

    progress: receives the rows of progress. The period starts when the last `keep` has ended.
    """

    keep: Callable[[Solution], None]
    progress: Progress = silent
    every: float = EVERY
    _make: Callable[[], Solution] | None = None
    _last: float = field(default_factory=time.perf_counter)

    def __call__(self, row: ProgressRow) -> None:
        """Pass a row of progress on."""
        self.progress(row)

    def offer(self, make: Callable[[], Solution]) -> None:
        """Register how to make a solution of a planner's current state."""
        self._make = make

    def look(self) -> None:
        """Pass the current solution to `keep`, if the period has passed."""
        make = self._make
        if make is None or time.perf_counter() - self._last < self.every:
            return
        self._make = None  # making a solution may check the clock
        try:
            self.keep(make())
        finally:
            self._make, self._last = make, time.perf_counter()
