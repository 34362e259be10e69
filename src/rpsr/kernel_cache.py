"""Numba's `njit`, with a cache folder for compiled kernels on more systems.

Numba caches compiled kernels in the folder NUMBA_CACHE_DIR, beside their source, or in the user's
cache folder. It refuses to define a kernel if it can write to none of these, as in a container
whose user owns neither the installation nor a home folder. Then this module uses a private
temporary folder. Loading a kernel runs machine code, so the user must own that folder and nobody
else may access it; otherwise every process compiles the kernels in memory, and one warning says so.

Numba compiles the functions that a kernel calls, and the constants that it reads, into the kernel
itself, but checks only the kernel's own file for changes. So this module also stamps a cached
kernel with the files of all kernels and named tuples that its module imports, recursively: a change
in one of them invalidates every kernel that depends on it.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
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
    "so each run compiles them again; "
    "set NUMBA_CACHE_DIR to a folder of yours on a disk with free space"
)
NO_FOLDER = f"no folder for compiled kernels is writable, {IN_MEMORY}"


def njit(**options: Any) -> Callable[[Function], Function]:
    """Like `numba.njit`; `cache=True` caches the kernel on disk if a folder is writable."""

    def compiled(function: Function) -> Function:
        try:
            return _stamped(_numba.njit(**options)(function), function)
        except RuntimeError:  # numba found no folder for its cache
            return _elsewhere(function, options)

    return compiled


def sources(function: Callable[..., Any]) -> set[str]:
    """The files of a function and of all kernels that its module imports, recursively."""
    known: Any = function
    files, waiting = set[str](), [known]
    while waiting:
        here = waiting.pop()
        file = here.__code__.co_filename
        if file not in files:
            files.add(file)
            values = list(here.__globals__.values())
            waiting += [value.py_func for value in values if hasattr(value, "py_func")]
            files |= {sys.modules[v.__module__].__file__ or "" for v in values if _layout(v)}
    return files


def _layout(value: Any) -> bool:
    """Whether the value is a named tuple type: kernels contain the order of its fields."""
    return isinstance(value, type) and hasattr(value, "_fields") and value.__module__ in sys.modules


def _stamped(dispatcher: Any, function: Callable[..., Any]) -> Any:
    """The dispatcher, which now checks for changes all files that its machine code depends on."""
    kept: Any = getattr(dispatcher, "_cache", None)
    file = getattr(kept, "_cache_file", None)  # None without a cache
    if file is not None:
        stats = [(name, os.stat(name)) for name in sorted(sources(function)) if Path(name).exists()]
        stamps = tuple((name, stat.st_mtime, stat.st_size) for name, stat in stats)
        file._source_stamp = (file._source_stamp, stamps)
        file._load_index = _forgiving(file._load_index)
        kept.save_overload = _if_there_is_room(kept.save_overload, Path(file._index_path))
    return dispatcher


def _forgiving(load: Callable[[], Any]) -> Callable[[], Any]:
    """Loads the cached code of a kernel; none, if its types were those of another version."""

    def loaded() -> Any:
        try:
            return load()
        except (AttributeError, ImportError):
            return {}

    return loaded


def _if_there_is_room(save: Callable[..., None], index: Path) -> Callable[..., None]:
    """Saves a kernel; if that fails, as on a full disk, the kernel is in memory only."""

    def saved(*arguments: Any) -> None:
        try:
            save(*arguments)
        except OSError as error:
            with suppress(OSError):  # the index may name machine code of an older source
                index.unlink(missing_ok=True)
            why = error.strerror or type(error).__name__
            _warn_once(f"compiled kernels cannot be saved ({why}), {IN_MEMORY}")

    return saved


def _elsewhere(function: Function, options: dict[str, Any]) -> Function:
    """The kernel, cached in a private temporary folder or, failing that, in memory."""
    folder = private_folder()
    if folder is not None:
        before = _settings.CACHE_DIR
        _settings.CACHE_DIR = str(folder)  # numba reads it while a kernel is defined
        try:
            return _stamped(_numba.njit(**options)(function), function)
        except RuntimeError:  # a full disk
            pass
        finally:
            _settings.CACHE_DIR = before
    _warn_once(NO_FOLDER)
    return _numba.njit(**options | {"cache": False})(function)


@cache
def private_folder() -> Path | None:
    """A temporary folder that only this user can read and write, the same in every process.

    None if there is none: another user may have made a folder of this name.
    """
    if not hasattr(os, "getuid"):  # a system that does not report a folder's owner
        return None
    try:
        folder = Path(tempfile.gettempdir(), f"rpsr-kernels-{os.getuid()}")
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
    except OSError:
        return None
    closed = stat.S_ISDIR(status.st_mode) and not status.st_mode & 0o077
    return folder if closed and status.st_uid == os.getuid() else None


@cache
def _warn_once(note: str) -> None:
    if parent_process() is None:  # a worker does not repeat the main process's warning
        warnings.warn(note, stacklevel=4)
