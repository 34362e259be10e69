"""What has been found is kept during planning, so that a killed run loses little.

A `Keeping` is given to a planner as its progress. The planner says once how to make a solution of
what it has (`Clock.offer`), and whenever it looks at the clock and the period has passed, the
solution so far is made and handed to `keep`, which may write it to a file:

    solve(model, "sarsop", progress=Keeping(lambda so_far: save_checkpoint(so_far, "run.ckpt")))

A solution so far is what Ctrl-C would leave at that moment: its status is `INTERRUPTED`, and its
bounds hold. Keeping changes nothing in what is planned.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from rpsr.planning.solution import Progress, ProgressRow, Solution, silent

EVERY = 60.0  # seconds from one to the next


@dataclass
class Keeping:
    """Progress that hands the solution so far to `keep` at a fixed interval of seconds.

    progress: where rows of progress go. The period is counted from the end of the last keeping.
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
        """Take note of how a solution is made of what a planner has."""
        self._make = make

    def look(self) -> None:
        """Keep what there is, if it is time."""
        make = self._make
        if make is None or time.perf_counter() - self._last < self.every:
            return
        self._make = None  # making a solution may look at the clock
        try:
            self.keep(make())
        finally:
            self._make, self._last = make, time.perf_counter()
