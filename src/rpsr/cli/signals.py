"""Signals that end a command: SIGTERM is heard as Ctrl-C is, and has an exit code of its own."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED, TERMINATED = 130, 143  # exit codes: 128 and the number of the signal, as shells say


@contextmanager
def heard_as_ctrl_c() -> Generator[list[int]]:
    """SIGTERM raises KeyboardInterrupt meanwhile; the signals that came, as a list that grows.

    Only the main thread can hear signals, and one that is ignored stays so.
    """
    heard: list[int] = []

    def interrupt(number: int, _frame: FrameType | None) -> None:
        heard.append(number)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield heard
        return
    before = signal.getsignal(signal.SIGTERM)
    if before is not signal.SIG_DFL:
        yield heard
        return
    signal.signal(signal.SIGTERM, interrupt)
    try:
        yield heard
    finally:
        signal.signal(signal.SIGTERM, before)
