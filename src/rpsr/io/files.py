"""Bytes in, bytes out: plain or gzipped files, standard input, and writing without half-writing."""

from __future__ import annotations

import io
import os
import sys
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from gzip import BadGzipFile, GzipFile
from pathlib import Path
from typing import BinaryIO

from rpsr.errors import InputError
from rpsr.io.allowance import TEXT_COST, VARIABLE, allowance

GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True)
class Content:
    """What a file holds. size: bytes of the file itself, which may be fewer where it is packed."""

    text: bytes
    size: int


def read_bytes(path: str | Path) -> bytes:
    """The content of a file, decompressed if it is gzip; `-` is standard input."""
    return read_content(path).text


def read_content(path: str | Path) -> Content:
    """Like `read_bytes`, with the size of the file, by which readers limit what they make of it."""
    raw = read_raw(path)
    text = _decompress(raw, place_of(path)) if raw.startswith(GZIP_MAGIC) else raw
    return Content(text, len(raw))


def read_raw(path: str | Path) -> bytes:
    """The bytes of a file as they are; `-` is standard input."""
    place = place_of(path)
    try:
        return sys.stdin.buffer.read() if str(path) == "-" else Path(path).read_bytes()
    except IsADirectoryError:
        raise InputError("is a folder, expected a file", place=place) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", place=place) from None


def _decompress(raw: bytes, place: str) -> bytes:
    largest = allowance(len(raw)) // TEXT_COST
    try:
        text = GzipFile(fileobj=io.BytesIO(raw)).read(largest + 1)
    except (EOFError, BadGzipFile, zlib.error, OSError) as error:
        raise InputError(f"broken gzip: {error}", place=place) from None
    if len(text) > largest:
        limit = f"{largest:,} bytes, the limit for a file of this size ({VARIABLE} sets another)"
        raise InputError(f"unpacks to more than {limit}", place=place)
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
