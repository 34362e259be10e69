"""Temporary files named after their process, so that files of a killed process can be removed.

A name contains the target's name, a hash of that name and the host's, and the process number. So
hosts and containers that share a folder do not remove each other's files.
"""

from __future__ import annotations

import os
import platform
import tempfile
from contextlib import suppress
from pathlib import Path
from zlib import crc32

SUFFIX = ".rpsr-tmp"
_SHOWN = 40  # characters of the target's name, so that the name does not get too long


def temporary_beside(target: Path) -> tuple[int, str]:
    """A new file beside a target, open for writing: its handle and its path."""
    prefix = f"{_prefix(target)}{os.getpid()}."
    return tempfile.mkstemp(dir=target.parent, prefix=prefix, suffix=SUFFIX)


def remove_abandoned(target: Path) -> None:
    """Remove the temporary files beside a target whose processes have ended."""
    prefix = _prefix(target)
    with suppress(OSError):  # a folder that cannot be listed may still be writable
        for entry in list(os.scandir(target.parent)):
            if entry.name.startswith(prefix) and entry.name.endswith(SUFFIX):
                writer = entry.name.removeprefix(prefix).partition(".")[0]
                if writer.isdecimal() and not _alive(int(writer)):
                    with suppress(OSError):  # another process may have removed it
                        os.unlink(entry)


def _prefix(target: Path) -> str:
    key = crc32(os.fsencode(f"{platform.node()}/{target.name}"))
    return f".{target.name[:_SHOWN]}.{key:08x}."


def _alive(process: int) -> bool:
    """Whether a process exists on this host; true if the system cannot tell."""
    if os.name == "nt":  # on Windows, os.kill would end the process
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
