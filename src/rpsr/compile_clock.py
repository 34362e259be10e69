"""How long kernels were compiled for: a first run waits once, and limits on time leave that out.

The compiler announces when it begins and ends; kernels found on disk are not compiled. A kernel
that calls another compiles it meanwhile, so only the outermost of nested announcements is timed.
Importing this module imports numba: `rpsr.kernels` does so with the first kernel to be compiled.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from numba.core import event


class Stopwatch(event.Listener):
    """Seconds between outermost starts and ends; tell is called when compiling begins."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self.seconds = 0.0
        self._tell = tell
        self._depth = 0
        self._began = 0.0

    def on_start(self, event: Any) -> None:
        """Compiling begins."""
        if self._depth == 0:
            self._tell()
            self._began = time.perf_counter()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """Compiling ends."""
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._began


def started(tell: Callable[[], None]) -> Stopwatch:
    """A stopwatch that runs from now on."""
    stopwatch = Stopwatch(tell)
    event.register("numba:compile", stopwatch)
    return stopwatch
