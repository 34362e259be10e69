"""Kernels are compiled in a thread of their own, so that nobody has to wait for the compiler.

A call of the compiler cannot be stopped for seconds at worst. So the thread that needs a kernel
waits for another one that compiles it, and stops waiting at its cutoff or on Ctrl-C. The compiler
then ends before its next pass, and what it has compiled by then is in the cache. A pass that is
under way cannot be stopped: the process ends after it. Past the cutoff, kernels are only loaded
from disk.

The compiler signals when it begins and ends to compile a kernel, and before every pass. A kernel
that calls another also compiles that one, in the same thread. Importing this module imports numba:
`rpsr.kernels` does so with the first kernel to be compiled.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from math import inf
from typing import Any

from numba.core import compiler_lock, event

from rpsr.compile_limit import NotCompiled, count_waiting, current_cutoff

PIECE = 0.1  # seconds of waiting between two looks for signals, which some systems need
LOADING = 0.2  # seconds for a kernel from disk, past the cutoff

_lock: Any = compiler_lock.global_compiler_lock
_here = threading.local()  # .work: that of a compiling thread
_abandoned: list[_Work] = []


class _Abandoned(BaseException):
    """Ends a compilation that nobody waits for. Compilers do not handle it, unlike exceptions."""


class _Work(threading.Thread):
    """The compilation of a kernel for one signature.

    abandoned: whether it ends before the next pass. compiles: whether it has begun to compile,
    because the kernel was not on disk.
    """

    def __init__(self, compile_it: Callable[[Any], Any], signature: Any, abandoned: bool) -> None:
        super().__init__(name="rpsr-compiler")
        self._compile, self._signature, self.abandoned = compile_it, signature, abandoned
        self.done, self.compiles = threading.Event(), False
        self.result: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Compile, or load from disk."""
        _here.work = self
        try:
            self.result = self._compile(self._signature)
        except BaseException as error:
            self.error = error
        finally:
            del _here.work
            self.done.set()

    def begin(self) -> None:
        """Start the thread; where no thread can be started, compile in this one."""
        try:
            self.start()
        except RuntimeError:
            self.run()

    def wait(self, seconds: float) -> bool:
        """Wait for the end, and say whether it came; signals are handled meanwhile."""
        end = time.perf_counter() + seconds
        while not self.done.wait(min(PIECE, max(end - time.perf_counter(), 0.0))):
            if time.perf_counter() >= end:
                return False
        return True


class Watch(event.Listener):
    """Calls `announce` when compiling begins, and ends work that was abandoned."""

    def __init__(self, announce: Callable[[], None]) -> None:
        self._announce = announce

    def on_start(self, event: Any) -> None:
        """A kernel or a pass begins."""
        work: _Work | None = getattr(_here, "work", None)
        if work is None:  # the code of others
            return
        if work.abandoned:
            raise _Abandoned
        if not work.compiles:
            work.compiles = True
            self._announce()

    def on_end(self, event: Any) -> None:
        """A kernel or a pass ends."""


def watch(announce: Callable[[], None]) -> None:
    """Watch the compiler from now on."""
    for kind in ("numba:compile", "numba:run_pass"):
        event.register(kind, Watch(announce))


def running() -> bool:
    """Whether a compilation that nobody waits for has not ended yet."""
    _abandoned[:] = [work for work in _abandoned if work.is_alive()]
    return bool(_abandoned)


def apart(compile_it: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The `compile` of a kernel, run in a thread of its own.

    It raises `NotCompiled` at the cutoff of the thread that calls it.
    """

    def compiled(signature: Any) -> Any:
        if hasattr(_here, "work") or _lock.is_locked():  # for a function that this thread compiles
            return compile_it(signature)
        cutoff = current_cutoff()
        left = inf if cutoff is None else cutoff.left
        late = left <= 0
        if late and running():  # it holds the compiler's lock
            raise NotCompiled
        work, began, ended = _Work(compile_it, signature, late), time.perf_counter(), False
        try:
            work.begin()
            ended = work.wait(LOADING if late else left)
        finally:
            if not ended:  # also on Ctrl-C
                work.abandoned = True
                _abandoned.append(work)
            if work.compiles or not ended:
                count_waiting(time.perf_counter() - began)
        if not ended or isinstance(work.error, _Abandoned):
            raise NotCompiled
        if work.error is not None:
            raise work.error
        return work.result

    return compiled
