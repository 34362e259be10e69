"""Spread work over processes of one thread each; results as they come, interrupts handled once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from typing import TypeVar

# One thread of linear algebra per process: several processes already use the cores.
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
Item = TypeVar("Item")
Result = TypeVar("Result")


def spread(
    work: Callable[[Item], Result], items: Sequence[Item], jobs: int
) -> Iterator[tuple[Item, Result | None]]:
    """Each item with its result `work(item)`, in the order of completion.

    Items are begun in the order given. The result is None if the process was killed from outside,
    for example when memory ran out; an exception of `work` itself is raised here. One job or one
    item runs in this process.
    """
    if jobs <= 1 or len(items) <= 1:
        for item in items:
            yield item, work(item)
        return
    with one_thread_each():
        pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_end_quietly)
        try:
            with _interrupts_held():
                futures = {pool.submit(work, item): item for item in items}
            for future in as_completed(futures):
                try:
                    yield futures[future], future.result()
                except BrokenProcessPool:
                    yield futures[future], None
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def one_thread_each() -> Generator[None]:
    """Use one thread of linear algebra in processes started inside, and here if not yet loaded.

    The last digit of a sum can depend on the number of threads.
    """
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _interrupts_held() -> Generator[None]:
    """Processes started inside ignore interrupts until `_end_quietly` enables them."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_quietly() -> None:
    """Let an interrupt end a worker silently; the main process reports it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
