"""How long kernels were compiled for: a first run waits once, and limits on time leave that out.

The compiler announces when it begins and ends; kernels found on disk are not compiled. A kernel
that calls another compiles it meanwhile, so only the outermost of nested announcements is timed.
"""

from __future__ import annotations

import time
from typing import Any

from numba.core import event


class _Stopwatch(event.Listener):
    """Seconds between outermost starts and ends."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth = 0
        self._began = 0.0

    def on_start(self, event: Any) -> None:
        """Compiling begins."""
        if self._depth == 0:
            self._began = time.perf_counter()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """Compiling ends."""
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._began


_stopwatch = _Stopwatch()
event.register("numba:compile", _stopwatch)


def compiled_seconds() -> float:
    """Seconds spent compiling kernels since this module was imported."""
    return _stopwatch.seconds
