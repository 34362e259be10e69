"""The one place where work leaves this process: `spread` gives items to any executor.

An executor is a `concurrent.futures.Executor`: none (this process), `Processes` on this machine, or
that of a Dask client (`cluster`). Results do not depend on it: whatever is random has a seed per
item. A worker that dies loses its item, which is run again, at most `AGAIN` times.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeVar

from rpsr.cluster import Checked, is_killed, refused
from rpsr.errors import RpsrError, SchedulerLost
from rpsr.packing import packed, sendable, unpacked

__all__ = ["Processes", "spread", "workers"]

AGAIN = 3  # times an item is run again whose worker died, as a Dask scheduler does by default
# One thread of linear algebra per process: several processes already use the cores.
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
LOST = "the Dask scheduler ended before the work did; finished work is kept"
Item = TypeVar("Item")
Result = TypeVar("Result")
Progress = Callable[[str], None]


def spread(
    work: Callable[[Item], Result], items: Sequence[Item], executor: Executor | None = None
) -> Iterator[tuple[Item, Result | None]]:
    """Each item with its result `work(item)`, in the order of completion.

    Items are begun in the order given. The result is None if the item's workers were killed, for
    example when memory ran out. An exception of `work` itself is raised here. A `SchedulerLost` is
    raised if the executor cancels items.
    """
    if executor is None:
        for item in items:
            yield item, work(item)
        return
    waiting, doubtful = list(items), list[Item]()
    for left in reversed(range(1 + AGAIN)):
        failed: list[Item] = []
        for item, outcome in _finished(work, waiting, executor):
            if outcome is _DOUBTFUL:
                doubtful.append(item)
            elif not isinstance(outcome, _Failed):
                yield item, outcome
            elif left:
                failed.append(item)
            else:
                raise outcome.error
        waiting = failed
        if not waiting:
            break
    # A Dask scheduler blames all items that a killed worker held. One item alone was the cause; of
    # several, each is tried by itself, so that none is lost for its neighbour.
    for item in doubtful:
        outcome = None
        if len(doubtful) > 1:
            ((_, outcome),) = spread(work, [item], executor)
        yield item, outcome


def in_order(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    executor: Executor | None,
    progress: Progress | None,
    what: str,
) -> Iterator[Result]:
    """The results of all items, in their order; an error if one is lost.

    Each comes as soon as it and those before it are there. progress: called with the number of each
    item, named `what`, before it begins here, or when it is finished elsewhere.
    """
    early: dict[int, Result] = {}
    given = 0
    for place, done in completed(work, items, executor, progress, what):
        early[place] = done
        while given in early:
            yield early.pop(given)
            given += 1


def completed(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    executor: Executor | None,
    progress: Progress | None,
    what: str,
) -> Iterator[tuple[int, Result]]:
    """The place and the result of all items, as they are completed; otherwise like `in_order`."""
    progress = progress or nothing
    if executor is None:
        for number, item in enumerate(items, 1):
            progress(f"{what} {number} of {len(items)}")
            yield number - 1, work(item)
        return
    finished = spread(_Second(work), list(enumerate(items)), executor)
    for number, ((place, _), done) in enumerate(finished, 1):
        if done is None:
            raise RpsrError(
                f"{what} {place + 1} of {len(items)}: the processes that ran it were killed, "
                "perhaps for lack of memory; use fewer jobs, or workers with more memory"
            )
        progress(f"{what} {number} of {len(items)}")
        yield place, done


def nothing(what: str) -> None:
    """Report no progress."""


@dataclass(frozen=True)
class _Second:
    """Work on the second of a pair."""

    work: Callable[[Any], Any]

    def __call__(self, pair: tuple[int, Any]) -> Any:
        return self.work(pair[1])


_DOUBTFUL: Any = object()  # stands for the result of an item whose workers were killed


@dataclass(frozen=True)
class _Failed:
    """Stands for a result that an executor lost.

    Dask's does so if a worker dies just after its result was fetched.
    """

    error: Exception


def _finished(
    work: Callable[[Item], Result], items: Sequence[Item], executor: Executor
) -> Iterator[tuple[Item, Any]]:
    futures: dict[Future[Any], Item] = {}
    try:
        try:
            call = Checked.of(work)
            for item in items:
                futures[executor.submit(call, packed(item))] = item
        except BrokenExecutor:  # a pool of the standard library does not replace a killed process
            yield from ((item, None) for item in items[len(futures) :])
        for future in as_completed(futures):
            yield futures.pop(future), _outcome(future)  # and its result is no longer held here
    finally:
        for future in futures:
            future.cancel()


def _outcome(future: Future[Any]) -> Any:
    try:
        result, error = unpacked(future.result())
    except BrokenExecutor:
        return None
    except CancelledError:
        raise SchedulerLost(LOST) from None
    except Exception as error:
        if is_killed(error):
            return _DOUBTFUL
        if (reason := refused(error)) is not None:
            raise RpsrError(reason) from None
        return _Failed(error)
    if error is not None:
        raise error
    return result


class WorkerDied(BrokenExecutor):
    """The processes that ran an item were all killed."""


class Processes(Executor):
    """A pool of processes on this machine, each with one thread, and replaced when it dies."""

    def __init__(self, jobs: int) -> None:
        """jobs: the largest number of processes; they start when there is work."""
        self._jobs = jobs
        self._waiting: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._threads: list[Thread] = []
        self._running: set[_Process] = set()
        self._lock = Lock()
        self._closed = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run `fn(*args, **kwargs)` in one of the processes; `fn` must be importable there."""
        future: Future[Any] = Future()
        self._waiting.put((future, partial(fn, *args, **kwargs)))
        if len(self._threads) < self._jobs:
            thread = Thread(target=self._serve, daemon=True)
            with _interrupts_held():  # until a process can end quietly
                thread.start()
            self._threads.append(thread)
        return future

    def _serve(self) -> None:
        """Pass one item after the other to a process of this thread's own."""
        process: _Process | None = None
        while (task := self._waiting.get()) is not None:
            future, call = task
            if not future.set_running_or_notify_cancel():
                continue
            for _ in range(1 + AGAIN):
                with self._lock:
                    if self._closed:
                        break
                    process = process or _Process()
                    self._running.add(process)
                try:
                    future.set_result(process.run(call))
                    break
                except _Died:
                    with self._lock:
                        self._running.discard(process)
                    process = None
                except BaseException as error:  # of the work: it belongs to the item
                    future.set_exception(error)
                    break
            if not future.done():
                future.set_exception(WorkerDied(f"{1 + AGAIN} processes were killed"))
        if process is not None:
            process.end()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Finish all items, or, without `wait`, end the processes at once."""
        with self._lock:
            self._closed = self._closed or not wait
            if not wait:
                for process in self._running:
                    process.end()
        for _ in self._threads:
            self._waiting.put(None)
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def __exit__(self, kind: Any, *_: Any) -> None:
        """Wait for the items, but not after an exception such as an interrupt."""
        self.shutdown(wait=kind is None)


class _Died(Exception):
    """The process ended before it answered."""


class _Process:
    """One process that runs one item after the other."""

    def __init__(self) -> None:
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_answer, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()  # so that its death is the end of the pipe

    def run(self, call: Callable[[], Any]) -> Any:
        asked = packed(call)
        try:
            self._pipe.send_bytes(asked)
            answer = self._pipe.recv_bytes()
        except (EOFError, OSError):
            self.end()
            raise _Died from None
        result, error = unpacked(answer)
        if error is not None:
            raise error
        return result

    def end(self) -> None:
        self._process.terminate()
        self._process.join()


def _answer(pipe: Connection) -> None:
    """Run what comes through a pipe, in a process of its own, and send back the outcome."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # ends it silently; the main process reports it
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    while True:
        try:
            asked = pipe.recv_bytes()
        except EOFError:
            return
        try:
            answer = packed((unpacked(asked)(), None))
        except Exception as error:
            answer = packed((None, sendable(error)))
        pipe.send_bytes(answer)


@contextmanager
def workers(
    jobs: int | None = None,
    *,
    scheduler: str | None = None,
    scheduler_file: str | os.PathLike[str] | None = None,
) -> Generator[Executor | None]:
    """An executor: processes on this machine, or the workers of a running Dask scheduler.

    jobs: the number of processes; None for one job, which runs in this process. scheduler: the
    address of a Dask scheduler, `tcp://HOST:PORT`. scheduler_file: a file in which it wrote this
    address. At most one of the three may be given.
    """
    given = [x is not None for x in (jobs, scheduler, scheduler_file)]
    if sum(given) > 1:
        raise RpsrError("jobs, scheduler and scheduler_file exclude each other; give one of them")
    if scheduler is not None or scheduler_file is not None:
        from rpsr.cluster import connected

        with connected(scheduler, scheduler_file) as executor:
            yield executor
    elif jobs is None or jobs <= 1:
        yield None
    else:
        with one_thread_each(), Processes(jobs) as executor:
            yield executor


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
    """Threads and processes started inside ignore interrupts until they enable them."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
