"""Measure how long kernels took to compile: time limits do not count it.

The compiler signals when it begins and ends; kernels found on disk are not compiled. A kernel that
calls another also compiles that one, so only the outermost of nested signals is timed. Importing
this module imports numba: `rpsr.kernels` does so with the first kernel to be compiled.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from numba.core import event


class Stopwatch(event.Listener):
    """Seconds between outermost starts and ends; `announce` is called when compiling begins."""

    def __init__(self, announce: Callable[[], None]) -> None:
        self.seconds = 0.0
        self._announce = announce
        self._depth = 0
        self._began = 0.0

    def on_start(self, event: Any) -> None:
        """Compiling begins."""
        if self._depth == 0:
            self._announce()
            self._began = time.perf_counter()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """Compiling ends."""
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._began


def started(announce: Callable[[], None]) -> Stopwatch:
    """A stopwatch that starts now."""
    stopwatch = Stopwatch(announce)
    event.register("numba:compile", stopwatch)
    return stopwatch
