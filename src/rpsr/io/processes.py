"""Work spread over processes: results as they come, interrupts heard once, one thread each."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from typing import TypeVar

# One thread of linear algebra a process: several processes already use the cores.
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
Item = TypeVar("Item")
Result = TypeVar("Result")


def spread(
    work: Callable[[Item], Result], items: Sequence[Item], jobs: int
) -> Iterator[tuple[Item, Result | None]]:
    """Each item with what `work` made of it, in the order in which they are done.

    Items are begun in the order given. None stands for the result of a process that was killed
    from outside, as for want of memory; an exception of `work` itself is raised here. With one job
    or one item, everything happens in this process.
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
    """One thread of linear algebra in processes started here, and here if none is loaded yet.

    The last digit of a sum can depend on how many threads made it.
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
    """Processes started here hear of an interrupt only when `_end_quietly` lets them."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_quietly() -> None:
    """An interrupt ends a worker without a word; the main process says what there is to say."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
