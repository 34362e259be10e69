"""Bytes in, bytes out: plain or gzipped files, standard input, and writing without half-writing."""

from __future__ import annotations

import io
import os
import sys
import tempfile
import zlib
from collections.abc import Callable
from gzip import BadGzipFile, GzipFile
from pathlib import Path
from typing import BinaryIO

from rpsr.errors import InputError

GZIP_MAGIC = b"\x1f\x8b"
LARGEST_TEXT = 2**28  # bytes after decompression: more than any model file, less than a bomb


def read_bytes(path: str | Path) -> bytes:
    """The content of a file, decompressed if it is gzip; `-` is standard input."""
    place = place_of(path)
    try:
        raw = sys.stdin.buffer.read() if str(path) == "-" else Path(path).read_bytes()
    except IsADirectoryError:
        raise InputError("is a folder, expected a file", place=place) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", place=place) from None
    return _decompress(raw, place) if raw.startswith(GZIP_MAGIC) else raw


def _decompress(raw: bytes, place: str) -> bytes:
    try:
        text = GzipFile(fileobj=io.BytesIO(raw)).read(LARGEST_TEXT + 1)
    except (EOFError, BadGzipFile, zlib.error, OSError) as error:
        raise InputError(f"broken gzip: {error}", place=place) from None
    if len(text) > LARGEST_TEXT:
        raise InputError("unpacks to more than 256 MiB, the reader's limit", place=place)
    return text


def place_of(path: str | Path) -> str:
    """How an error names this source."""
    return "<stdin>" if str(path) == "-" else str(path)


def write_whole(path: str | Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file completely or not at all: a temporary file beside it, then a rename."""
    target = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", place=str(path)) from None
    try:
        with os.fdopen(handle, "wb") as stream:
            write(stream)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)  # mkstemp makes private files; a result is not one
        os.replace(temporary, target)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise InputError(f"cannot be written: {error.strerror or error}", place=str(path)) from None
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write a file completely or not at all; `-` is standard output."""
    if str(path) == "-":
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:
        write_whole(path, lambda stream: stream.write(content))
