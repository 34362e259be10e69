"""Temporary files named after their process, so that files of a killed process can be removed.

A name contains the target's name, a hash of that name and the host's, and the process number. So
hosts and containers that share a folder do not remove each other's files.
"""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from zlib import crc32

SUFFIX = ".rpsr-tmp"
_SHOWN = 40  # characters of the target's name, so that the name does not get too long


def temporary_beside(target: Path, permissions: int = 0o600) -> tuple[int, str]:
    """A new file beside a target, open for writing: its handle and its path.

    permissions: without those that the umask withholds. The umask belongs to all threads of the
    process, so it is left to the system, not read: to read it, one must set it.
    """
    name = f"{_prefix(target)}{os.getpid()}.{token_hex(4)}{SUFFIX}"
    path = os.path.join(target.parent, name)
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    return os.open(path, flags, permissions), path


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
