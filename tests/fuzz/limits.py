"""One input, read within limits: what it ended in, and whether that is a failure.

What RPSR_READ_LIMIT allows is a plan: readers estimate what they need, and do not count every copy.
The promise is that a file of up to a megabyte takes at most twice as much memory, on top of what
the process has, and a second of processor time per 128 MiB. It is tested with a limit of 128 MiB,
or with the value of the variable. The system enforces both: memory that is not there raises
`MemoryError`, and a signal interrupts a reader that takes too long. A reader that does not return
to Python is ended by a second signal.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import traceback
import warnings
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from tests.fuzz.readers import Reader

from rpsr.errors import LONGEST, RpsrError
from rpsr.io.allowance import VARIABLE, allowance

ALLOWED = 2**27  # bytes that readers may plan to take, unless the variable says otherwise
SECONDS = 1.0  # of processor time for these bytes
HOPELESS = 10.0  # times as long, after which the process is ended

ENFORCED = sys.platform == "linux"
_DETAILS = re.compile(r"'[^']*'|\"[^\"]*\"|[-+.\d][-+.,\de/]*")


class TooSlow(BaseException):
    """A reader used up its time. Not an `Exception`, so that no reader catches it."""


@dataclass(frozen=True)
class Ending:
    """What an input ended in. key: equal for similar endings. failure: why it is a defect."""

    key: str
    failure: str | None = None


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise TooSlow


@contextmanager
def limits(seconds: float | None = None) -> Generator[None]:
    """Inside, processor time and memory are limited, on Linux. seconds: other than the promise."""
    if not ENFORCED:
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm", encoding="ascii") as file:
        held = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    given = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = str(ALLOWED) if given is None else given
    allowed = max(ALLOWED, allowance(0))
    if seconds is None:
        seconds = SECONDS * allowed / ALLOWED
    resource.setrlimit(resource.RLIMIT_AS, (held + 2 * allowed, hard))
    signal.signal(signal.SIGPROF, _interrupt)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_VIRTUAL, HOPELESS * seconds)  # its signal ends a process
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        if given is None:
            del os.environ[VARIABLE]


def ending(reader: Reader, path: Path, *, limited: bool = True) -> Ending:
    """Read a file, within limits or without."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)  # of numpy: an overflow, 0 / 0
            with limits() if limited else nullcontext():
                value = reader.read(path)
    except RpsrError as error:
        return _of_error(error, path)
    except (Exception, TooSlow) as error:
        return _failed(error)
    return Ending(f"value {value}")


def _of_error(error: RpsrError, path: Path) -> Ending:
    text = str(error).replace(str(path), "input")
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MemoryError):  # with more memory it would have taken more
            return _failed(cause)
        cause = cause.__context__
    if len(text.splitlines()) != 1:
        return Ending("not one line", f"the message has several lines: {text[:200]!r}")
    if len(text) > LONGEST + 10:
        return Ending("long message", f"the message has {len(text)} characters: {text[:200]!r}")
    return Ending(f"{type(error).__name__} {_DETAILS.sub('_', text)[:150]}")


def _failed(error: BaseException) -> Ending:
    """The innermost line of the library tells one failure from another."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if f"{os.sep}rpsr{os.sep}" in frame.filename] or frames
    place = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "?"
    key = f"{type(error).__name__} at {place}"
    first = (str(error).splitlines() or [""])[0][:200]
    return Ending(key, f"{key}: {first}")
