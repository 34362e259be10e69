"""Intermediate solutions are saved during planning, so that a killed run loses little.

An `Autosave` is given to a planner as its progress. The planner registers once how to make a
solution of its current state (`Clock.offer`). At the first check of the clock after each period,
the solution is made and passed to `save`, which may write it to a file:

    autosave = Autosave(lambda so_far: save_checkpoint(so_far, "run.ckpt"))
    solve(model, "sarsop", progress=autosave)

This is the solution that Ctrl-C would give at that moment: its status is `INTERRUPTED`, and its
bounds hold. Saving does not change the plan.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from rpsr.planning.solution import Progress, ProgressRow, Solution, silent

EVERY = 60.0  # seconds between two solutions


class Saving:
    """Progress that also saves solutions.

    Not an abstract class: the clock asks at every check whether its progress is one, and abstract
    classes answer slowly.
    """

    def __call__(self, row: ProgressRow) -> None:
        """Pass a row of progress on."""
        raise NotImplementedError

    def offer(self, make: Callable[[], Solution]) -> None:
        """Register how to make a solution of a planner's current state."""
        raise NotImplementedError

    def look(self) -> None:
        """Save the current solution, if it is time to."""
        raise NotImplementedError


@dataclass
class Autosave(Saving):
    """Progress that passes the current solution to `save` at a fixed interval.

    save: called with the solution, for example to write it to a file. progress: receives the rows
    of progress. every: seconds from the end of one `save` to the next.
    """

    save: Callable[[Solution], None]
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
        """Pass the current solution to `save`, if the period has passed."""
        make = self._make
        if make is None or time.perf_counter() - self._last < self.every:
            return
        self._make = None  # making a solution may check the clock
        try:
            self.save(make())
        finally:
            self._make, self._last = make, time.perf_counter()
