"""Temporary files that say who writes them, so that those of a killed process can be removed.

A name holds the target's name, a number made of that name and of this host's, and the process that
writes. Hosts and containers that share a folder number their processes apart, and leave each
other's files alone.
"""

from __future__ import annotations

import os
import platform
import tempfile
from contextlib import suppress
from pathlib import Path
from zlib import crc32

SUFFIX = ".rpsr-tmp"
_SHOWN = 40  # characters of the target's name: with all of a long one, a name would be too long


def temporary_beside(target: Path) -> tuple[int, str]:
    """A new file beside a target, open for writing: its handle and its path."""
    prefix = f"{_prefix(target)}{os.getpid()}."
    return tempfile.mkstemp(dir=target.parent, prefix=prefix, suffix=SUFFIX)


def remove_abandoned(target: Path) -> None:
    """Remove the temporary files beside a target whose processes are no more."""
    prefix = _prefix(target)
    with suppress(OSError):  # a folder that cannot be listed may be written to all the same
        for entry in list(os.scandir(target.parent)):
            if entry.name.startswith(prefix) and entry.name.endswith(SUFFIX):
                writer = entry.name.removeprefix(prefix).partition(".")[0]
                if writer.isdecimal() and not _alive(int(writer)):
                    with suppress(OSError):  # another process may have been quicker
                        os.unlink(entry)


def _prefix(target: Path) -> str:
    key = crc32(os.fsencode(f"{platform.node()}/{target.name}"))
    return f".{target.name[:_SHOWN]}.{key:08x}."


def _alive(process: int) -> bool:
    """Whether a process exists on this host; where that cannot be asked, it may."""
    if os.name == "nt":  # there, asking would end it
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
