"""Numba's `njit`, with a place for compiled kernels wherever one can be had.

Numba keeps compiled kernels in the folder that NUMBA_CACHE_DIR names, beside their source, or in
the user's cache folder, and refuses to define a kernel where none of these can be written: in a
container whose user owns neither the installation nor a home. Then a private temporary folder
holds them. Loading a kernel runs machine code, so that folder must be the user's own and closed to
others; where it is not, kernels are compiled in memory, in every process anew, and one warning
says so.

Numba compiles what a kernel calls, and the constants that it reads, into the kernel itself, but
looks for changes only in the file where the kernel stands. So here a kernel on disk is also stamped
with the files of all kernels and named tuples that its module knows, and theirs: an edit of one of
them is an edit of all that rest on it.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from multiprocessing import parent_process
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import config

Function = TypeVar("Function", bound=Callable[..., Any])
_numba: Any = numba  # its stubs know neither all of its settings nor options in a dictionary
_settings: Any = config

IN_MEMORY = (
    "no folder can be written to keep compiled kernels in, so each run compiles them anew; "
    "set NUMBA_CACHE_DIR to a folder of yours"
)


def njit(**options: Any) -> Callable[[Function], Function]:
    """Like `numba.njit`; `cache=True` keeps the kernel on disk where there is a place for it."""

    def compiled(function: Function) -> Function:
        try:
            return _stamped(_numba.njit(**options)(function), function)
        except RuntimeError:  # numba has no place for its cache
            return _elsewhere(function, options)

    return compiled


def sources(function: Callable[..., Any]) -> set[str]:
    """The files of a function and of all kernels that its module knows, and theirs."""
    known: Any = function
    found, waiting = set[str](), [known]
    while waiting:
        here = waiting.pop()
        file = here.__code__.co_filename
        if file not in found:
            found.add(file)
            values = list(here.__globals__.values())
            waiting += [value.py_func for value in values if hasattr(value, "py_func")]
            found |= {sys.modules[v.__module__].__file__ or "" for v in values if _layout(v)}
    return found


def _layout(value: Any) -> bool:
    """Whether it is a named tuple: the order of its fields is compiled into kernels, too."""
    return isinstance(value, type) and hasattr(value, "_fields") and value.__module__ in sys.modules


def _stamped(dispatcher: Any, function: Callable[..., Any]) -> Any:
    """The dispatcher, looking for changes in all files that its machine code comes from."""
    kept = getattr(dispatcher, "_cache", None)
    file = getattr(kept, "_cache_file", None)  # without a cache there is none
    if file is not None:
        stats = [(name, os.stat(name)) for name in sorted(sources(function)) if Path(name).exists()]
        stamps = tuple((name, stat.st_mtime, stat.st_size) for name, stat in stats)
        file._source_stamp = (file._source_stamp, stamps)
    return dispatcher


def _elsewhere(function: Function, options: dict[str, Any]) -> Function:
    """The kernel, kept in a temporary folder or, failing that, in memory."""
    folder = private_folder()
    if folder is not None:
        before = _settings.CACHE_DIR
        _settings.CACHE_DIR = str(folder)  # is read while a kernel is defined
        try:
            return _stamped(_numba.njit(**options)(function), function)
        except RuntimeError:  # a full disk
            pass
        finally:
            _settings.CACHE_DIR = before
    _warn_once()
    return _numba.njit(**options | {"cache": False})(function)


@cache
def private_folder() -> Path | None:
    """A temporary folder that only this user can write and read, the same in every process.

    None where there is no such folder: somebody else may have made one of that name.
    """
    if not hasattr(os, "getuid"):  # a system that does not say whose a folder is
        return None
    try:
        folder = Path(tempfile.gettempdir(), f"rpsr-kernels-{os.getuid()}")
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    closed = stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o077
    return folder if closed and found.st_uid == os.getuid() else None


@cache
def _warn_once() -> None:
    if parent_process() is None:  # the first process has said it for those that it started
        warnings.warn(IN_MEMORY, stacklevel=4)
