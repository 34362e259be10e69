"""Standard streams that the caller has closed, or that nobody reads any more."""

from __future__ import annotations

import os
import sys
from typing import TextIO

_WRITTEN = ("stdout", "stderr")


def open_missing_streams() -> None:
    """Standard output and error that the caller has closed (`>&-`) lead nowhere.

    Otherwise Python has None in their place, and the next file that is opened gets their number.
    """
    for name in _WRITTEN:
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - open until the process ends


def discard(stream: TextIO) -> None:
    """Discard what a stream still holds, and all that is written to it from now on."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
