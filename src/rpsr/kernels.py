"""Kernels: functions that numba compiles, or that are interpreted first for a small problem.

Compiling the kernels of a planner takes ten seconds or more, once per machine; the interpreter
solves a small problem in a tenth of a second. So inside `interpreted_first` kernels run as plain
Python, with bit-equal results, until they have taken `PATIENCE` seconds in this process. After
that, and outside `interpreted_first`, they are compiled (`compile_thread`) or loaded from disk
(`kernel_cache`).

A running call is never abandoned, so callers of `interpreted_first` call kernels in short pieces.
Compiling is: a kernel that is not ready at a limit raises an exception or is interpreted
(`compile_limit`).
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property, update_wrapper
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from rpsr.compile_limit import NotCompiled, current_cutoff, exception_for_missing

Function = TypeVar("Function", bound=Callable[..., Any])

PATIENCE = 1.5  # seconds of interpreting per process, after which compiling pays off
_allowed: ContextVar[bool] = ContextVar("_allowed", default=False)
_spent = [0.0]  # seconds of interpreting so far, in all threads
_watched: list[bool] = []  # one element once the compiler is loaded
_listener: list[Callable[[], None]] = []  # called before kernels are compiled
_plain: dict[str, dict[str, Any]] = {}  # globals of modules, kernels replaced by plain functions


class Kernel:
    """A function in the part of Python that numba compiles."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self._options = options

    def __call__(self, *arguments: Any) -> Any:
        if not interpreting():
            try:
                return self._compiled(*arguments)
            except NotCompiled:
                error = exception_for_missing()
            if error is not None:
                raise error
        return self._interpreted(*arguments)

    def _compiled(self, *arguments: Any) -> Any:
        cutoff = current_cutoff()
        if not _watched and cutoff is not None and not cutoff.left:  # loading numba takes a second
            raise NotCompiled
        try:
            return self.dispatcher(*arguments)
        except SystemError as error:  # so numba reports Ctrl-C while it loads a kernel
            if _interrupted(error):
                raise KeyboardInterrupt from error
            raise

    def _interpreted(self, *arguments: Any) -> Any:
        began = time.perf_counter()
        try:
            # Hashes wrap around, and no signal stops a call halfway, as when compiled.
            with np.errstate(over="ignore"), _uninterrupted():
                return self.plain(*arguments)
        finally:
            _spent[0] += time.perf_counter() - began

    @cached_property
    def dispatcher(self) -> Any:
        """Numba's object, made on first use, because importing numba is slow."""
        from rpsr.compile_thread import apart, watch
        from rpsr.kernel_cache import njit as compiled

        if not _watched:
            watch(_announce)
            _watched.append(True)
        made: Any = compiled(**self._options)(self.py_func)
        if hasattr(made, "compile"):  # not if NUMBA_DISABLE_JIT is set
            made.compile = apart(made.compile)
        return made

    @property
    def _numba_type_(self) -> Any:
        """The type of this kernel inside another kernel."""
        return self.dispatcher._numba_type_

    @cached_property
    def plain(self) -> Callable[..., Any]:
        """The Python function, which calls other kernels as Python functions as well."""
        function: Any = self.py_func
        names = _plain.get(function.__module__)
        if names is None:
            names = _plain[function.__module__] = dict(function.__globals__)
            for name, value in function.__globals__.items():
                if isinstance(value, Kernel):
                    names[name] = value.plain
        return FunctionType(function.__code__, names, function.__name__, function.__defaults__)


def _interrupted(error: BaseException | None) -> bool:
    """Whether an error was caused by `KeyboardInterrupt`."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def njit(**options: Any) -> Callable[[Function], Function]:
    """Like `numba.njit`, for a kernel that may be interpreted first."""

    def kernel(function: Function) -> Function:
        made: Any = Kernel(function, options)
        return made

    return kernel


def interpreting() -> bool:
    """Whether kernels are currently interpreted."""
    return _allowed.get() and _spent[0] < PATIENCE


@contextmanager
def interpreted_first(small: bool) -> Generator[None]:
    """If the problem is small, interpret the kernels inside, for up to `PATIENCE` seconds."""
    token = _allowed.set(small)
    try:
        yield
    finally:
        _allowed.reset(token)


@contextmanager
def _uninterrupted() -> Generator[None]:
    """Handle SIGINT and SIGTERM at the end; their handlers may raise `KeyboardInterrupt`.

    Only the main thread has handlers and can change them.
    """
    held: dict[int, Any] = {}
    received: list[int] = []
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if callable(handler):
                held[number] = handler
                signal.signal(number, lambda number, frame: received.append(number))
    try:
        yield
    finally:
        for number, handler in held.items():
            signal.signal(number, handler)
        for number in received:
            held[number](number, None)


@contextmanager
def announced(announce: Callable[[], None]) -> Generator[None]:
    """Call `announce` once before kernels are compiled inside; never if none is."""
    _listener.append(announce)
    try:
        yield
    finally:
        _listener.clear()


def _announce() -> None:
    if _listener:
        _listener.pop()()
