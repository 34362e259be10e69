"""Kernels: functions that numba compiles, interpreted first where there is little to do.

Compiling the kernels of a planner takes ten seconds or more, once on a machine; a small problem is
solved by the interpreter in a tenth of a second. So within `interpreted_first` kernels run as plain
Python, with the same results to the last bit, until they have taken `PATIENCE` seconds in this
process; from then on, and outside of it, they are compiled, or loaded from disk (`kernel_cache`).

Whoever asks for it has a small problem and calls kernels in short pieces: a call that is under way
is not given up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property, update_wrapper
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from rpsr.compile_clock import Stopwatch

Function = TypeVar("Function", bound=Callable[..., Any])

PATIENCE = 1.5  # seconds of interpreting in a process, before compiling is worth the wait
_allowed: ContextVar[bool] = ContextVar("_allowed", default=False)
_spent = [0.0]  # seconds of interpreting so far, in all threads
_stopwatch: list[Stopwatch] = []  # of the compiler, once there is one
_listener: list[Callable[[], None]] = []  # who is told that kernels are being compiled
_plain: dict[str, dict[str, Any]] = {}  # globals of modules, kernels replaced by plain functions


class Kernel:
    """A function in the part of Python that numba compiles."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self._options = options

    def __call__(self, *arguments: Any) -> Any:
        if not interpreting():
            return self.dispatcher(*arguments)
        began = time.perf_counter()
        try:
            with np.errstate(over="ignore"):  # hashes wrap around, as they do when compiled
                return self.plain(*arguments)
        finally:
            _spent[0] += time.perf_counter() - began

    @cached_property
    def dispatcher(self) -> Any:
        """Numba's object, made when it is first needed: importing numba takes a while, too."""
        from rpsr.kernel_cache import njit as compiled

        if not _stopwatch:
            from rpsr.compile_clock import started

            _stopwatch.append(started(_announce))
        return compiled(**self._options)(self.py_func)

    @property
    def _numba_type_(self) -> Any:
        """What this is to a kernel that calls it."""
        return self.dispatcher._numba_type_

    @cached_property
    def plain(self) -> Callable[..., Any]:
        """The function, calling other kernels as plain functions, too."""
        function: Any = self.py_func
        names = _plain.get(function.__module__)
        if names is None:
            names = _plain[function.__module__] = dict(function.__globals__)
            for name, value in function.__globals__.items():
                if isinstance(value, Kernel):
                    names[name] = value.plain
        return FunctionType(function.__code__, names, function.__name__, function.__defaults__)


def njit(**options: Any) -> Callable[[Function], Function]:
    """Like `numba.njit`, for a kernel that may be interpreted first."""

    def kernel(function: Function) -> Function:
        made: Any = Kernel(function, options)
        return made

    return kernel


def interpreting() -> bool:
    """Whether kernels are interpreted here and now."""
    return _allowed.get() and _spent[0] < PATIENCE


@contextmanager
def interpreted_first(small: bool) -> Generator[None]:
    """Within it kernels are interpreted as long as patience lasts, if the problem is small."""
    token = _allowed.set(small)
    try:
        yield
    finally:
        _allowed.reset(token)


def compiled_seconds() -> float:
    """Seconds that this process has spent compiling kernels."""
    return _stopwatch[0].seconds if _stopwatch else 0.0


@contextmanager
def announced(tell: Callable[[], None]) -> Generator[None]:
    """Within it, tell is called once if kernels must be compiled, before they are."""
    _listener.append(tell)
    try:
        yield
    finally:
        _listener.clear()


def _announce() -> None:
    if _listener:
        _listener.pop()()
