"""Workers of a running Dask scheduler, as an executor.

Dask runs an item again whose worker died, three times by default, and then reports it as killed.
All workers must run the same code as this process: same version, same source files. Otherwise
results could differ, so they are refused: those that are there at the start by `connected`, those
that join later by their first item.
"""

from __future__ import annotations

import logging
import os
import platform
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from rpsr._version import __version__
from rpsr.errors import RpsrError
from rpsr.packing import packed, sendable, unpacked

TIMEOUT = "10s"  # to reach a scheduler
NEEDED = "a Dask scheduler needs distributed: pip install 'rpsr[dist]'"


@cache
def identity() -> str:
    """The version of rpsr, and a hash of its source files."""
    digest, package = sha256(), Path(__file__).parent
    for path in sorted(package.rglob("*.py")):
        digest.update(f"{path.relative_to(package).as_posix()} ".encode())
        digest.update(sha256(path.read_bytes()).digest())
    return f"{__version__} ({digest.hexdigest()[:12]})"


class OtherVersion(RpsrError):
    """A worker runs another version of rpsr."""


@dataclass(frozen=True)
class Checked:
    """A task that only workers with the same code run: packed items to packed results.

    A result is the pair of what the work returns and None, or of None and the error of the work.
    So whatever an executor raises is its own failure.
    """

    work: bytes
    asked: str

    @staticmethod
    def of(work: Callable[[Any], Any]) -> Checked:
        """The work, refused by a worker whose code is not that of this process."""
        return Checked(packed(work), identity())

    def __call__(self, item: bytes) -> bytes:
        """Run the work on an item."""
        try:
            return packed((self.imported()(imported(item)), None))
        except Exception as error:
            return packed((None, sendable(error)))

    def imported(self) -> Callable[..., Any]:
        """The work itself; an error if this process has other code."""
        if identity() != self.asked:
            raise OtherVersion(_other(platform.node(), identity(), self.asked))
        return imported(self.work)


class WorkFailed(Exception):
    """An error of the work, packed: whatever depends on its result fails with it, at once."""

    def __init__(self, error: bytes) -> None:
        super().__init__(error)
        self.error = error


def staying(call: Checked, *items: bytes) -> bytes:
    """The packed result of work on packed items, for work on other workers that depends on it."""
    try:
        return packed(call.imported()(*items))
    except Exception as error:
        raise WorkFailed(packed(sendable(error))) from None


Submit = Callable[..., Any]


def submit_of(executor: Executor | None) -> Submit | None:
    """The function that submits work to a Dask client, also work that depends on futures, or None.

    It returns Dask's own futures, whose results stay with the workers.
    """
    client: Any = getattr(executor, "_client", None)
    if not hasattr(client, "scheduler_info"):
        return None
    options: dict[str, Any] = getattr(executor, "_kwargs", {})
    return partial(client.submit, **options | {"pure": False})


def finished(futures: Sequence[Any]) -> Iterator[Any]:
    """Dask's futures, in the order in which they finish; each is given up once it is returned."""
    from distributed import as_completed

    watch: Any = as_completed
    return watch(futures, loop=futures[0].client.loop)


def imported(content: bytes) -> Any:
    """Unpack an object; an `RpsrError` if its functions and classes are not here."""
    try:
        return unpacked(content)
    except (AttributeError, ImportError) as error:
        cause = f"worker {platform.node()} cannot import the work: {error}"
        raise RpsrError(f"{cause}; write it in a module that all workers can import") from None


def _other(worker: str, read: str | None, expected: str) -> str:
    has = "has no rpsr" if read is None else f"runs rpsr {read}"
    return f"worker {worker} {has}, expected {expected}: install the same version on all workers"


def is_killed(error: Exception) -> bool:
    """Whether Dask gave up on an item because its workers died."""
    return _named(error) == "distributed.scheduler.KilledWorker"


def refused(error: Exception) -> str | None:
    """The reason if an item did not begin because a worker has no such code; else None."""
    if isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("rpsr"):
        return f"a worker has no module {error.name}: install rpsr {identity()} on all workers"
    return None


def _named(error: Exception) -> str:
    return f"{type(error).__module__}.{type(error).__qualname__}"


@contextmanager
def connected(
    scheduler: str | None, scheduler_file: str | os.PathLike[str] | None
) -> Generator[Executor]:
    """The workers of a running scheduler, by its address or by a file with this address."""
    try:
        from distributed import Client
    except ImportError:
        raise RpsrError(NEEDED) from None
    where = str(scheduler or scheduler_file)
    if scheduler_file is not None and not Path(scheduler_file).is_file():
        command = f"dask scheduler --scheduler-file {where}"
        raise RpsrError(f"{where}: no such scheduler file; `{command}` starts one and writes it")
    # This process reports a lost scheduler in one line of its own; Dask sets several levels.
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    file = None if scheduler_file is None else os.fspath(scheduler_file)
    client: Any = None
    try:
        made: Any = Client
        client = made(scheduler, scheduler_file=file, timeout=TIMEOUT, set_as_default=False)
        _check(client)
    except RpsrError:
        client.close()
        raise
    except (OSError, ValueError, KeyError) as error:  # a TimeoutError is an OSError
        reason = " ".join(str(error).split()) or "no answer"
        raise RpsrError(f"{where}: no Dask scheduler can be reached there: {reason}") from None
    try:
        yield client.get_executor(pure=False)
    finally:
        client.close(timeout=1)


def _check(client: Any) -> None:
    """Refuse workers with other code; they need not have this module."""

    def read() -> str | None:  # sent to the workers as code, because it is not importable
        try:
            from rpsr.cluster import identity
        except ImportError:
            pass
        else:
            return identity()
        try:
            from rpsr._version import __version__
        except ImportError:
            return None
        return __version__

    expected = identity()
    for worker, actual in client.run(read).items():
        if actual != expected:
            raise OtherVersion(_other(worker, actual, expected))
