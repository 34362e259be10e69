"""Signals that end a command: SIGTERM is handled like Ctrl-C, with its own exit code."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED, TERMINATED = 130, 143  # exit codes of shells: 128 plus the signal's number


@contextmanager
def handled_as_ctrl_c() -> Generator[list[int]]:
    """Inside, SIGTERM raises KeyboardInterrupt; yields the growing list of received signals.

    Only the main thread can receive signals. A handler that is not the default one stays in place.
    """
    received: list[int] = []

    def interrupt(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield received
        return
    before = signal.getsignal(signal.SIGTERM)
    if before is not signal.SIG_DFL:
        yield received
        return
    signal.signal(signal.SIGTERM, interrupt)
    try:
        yield received
    finally:
        signal.signal(signal.SIGTERM, before)
