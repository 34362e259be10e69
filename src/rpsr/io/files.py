"""Read plain or gzipped files and standard input; write files completely or not at all."""

from __future__ import annotations

import errno
import gzip
import io
import os
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from gzip import BadGzipFile, GzipFile
from pathlib import Path
from typing import Any, BinaryIO

from rpsr.errors import InputError
from rpsr.io.allowance import TEXT_COST, VARIABLE, allowance
from rpsr.io.temporary import remove_abandoned, temporary_beside
from rpsr.printable import printable

GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True)
class Content:
    """The text of a file. size: bytes of the file itself, fewer than the text if compressed."""

    text: bytes
    size: int


def path_text(given: Any, what: str) -> str:
    """A path as a string, from a string or path-like object; an `InputError` for anything else."""
    text = os.fspath(given) if isinstance(given, str | os.PathLike) else None
    if not isinstance(text, str):
        raise InputError(f"{what}: read {type(given).__name__}, expected a file's path as a string")
    return text


def read_bytes(path: str | Path) -> bytes:
    """The content of a file, decompressed if it is gzip; `-` is standard input."""
    return read_content(path).text


def read_content(path: str | Path) -> Content:
    """Like `read_bytes`, with the size of the file, which limits the memory that readers use."""
    raw = read_raw(path)
    text = _decompress(raw, place_of(path)) if raw.startswith(GZIP_MAGIC) else raw
    return Content(text, len(raw))


def read_raw(path: str | Path) -> bytes:
    """The bytes of a file without decompression; `-` is standard input."""
    place = place_of(path)
    try:
        return standard_input().read() if str(path) == "-" else Path(path).read_bytes()
    except IsADirectoryError:
        raise InputError("is a folder, expected a file", place=place) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", place=place) from None


def standard_input() -> BinaryIO:
    """Standard input as bytes; an `InputError` if the caller has closed it (`<&-`)."""
    stream: Any = sys.stdin  # None if it is closed
    if stream is None:
        raise InputError("standard input is closed", place=place_of("-"))
    return stream.buffer


def _decompress(raw: bytes, place: str) -> bytes:
    largest = allowance(len(raw)) // TEXT_COST
    try:
        text = GzipFile(fileobj=io.BytesIO(raw)).read(largest + 1)
    except (EOFError, BadGzipFile, zlib.error, OSError) as error:
        raise _broken(error, place) from None
    if len(text) > largest:
        raise _unpacks_to_more(largest, place)
    return text


def _broken(error: Exception, place: str) -> InputError:
    return InputError(f"broken gzip: {error}; copy or download it again", place=place)


def _unpacks_to_more(largest: int, place: str) -> InputError:
    limit = f"{largest:,} bytes, the limit for a file of its size (set {VARIABLE} to change it)"
    return InputError(f"unpacks to more than {limit}", place=place)


def read_lines(path: str | Path) -> Iterator[bytes]:
    """The lines of a file one by one, decompressed if it is gzip; `-` is standard input.

    What is not a regular file, such as a pipe, is read as a whole.
    """
    place = place_of(path)
    if str(path) == "-" or (os.path.exists(path) and not os.path.isfile(path)):
        yield from read_bytes(path).splitlines(keepends=True)
        return
    try:
        with open(path, "rb") as plain:
            packed = plain.read(len(GZIP_MAGIC)) == GZIP_MAGIC
            largest = allowance(os.fstat(plain.fileno()).st_size) // TEXT_COST
            plain.seek(0)
            with GzipFile(fileobj=plain) if packed else plain as stream:
                left = largest
                while line := stream.readline(left + 1):
                    left -= len(line)
                    if left < 0:
                        raise _unpacks_to_more(largest, place)
                    yield line
    except IsADirectoryError:
        raise InputError("is a folder, expected a file", place=place) from None
    except (EOFError, BadGzipFile, zlib.error) as error:
        raise _broken(error, place) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", place=place) from None


def place_of(path: str | Path) -> str:
    """The name of this source in errors."""
    return "<stdin>" if str(path) == "-" else str(path)


def write_whole(path: str | Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file completely or not at all.

    A regular file, or none yet, is replaced by a rename and keeps its permissions; a link is
    followed and kept. Anything else (a device, a pipe) is written to directly, once all is ready.
    """
    try:
        status = _status(path)
        if status is not None and stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if status is None or stat.S_ISREG(status.st_mode):
            _replace(Path(os.path.realpath(path)), status, write)
        else:
            _write_through(path, write)
    except OSError as error:
        raise _unwritable(path, error) from None


def check_writable(path: str | Path) -> bool:
    """Refuse a path `write_whole` cannot write; whether it would replace or create a file."""
    try:
        status = _status(path)
        if status is not None and stat.S_ISDIR(status.st_mode):
            raise InputError("is a folder, expected the name of a file", place=str(path))
        if status is not None and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        if status is not None and not stat.S_ISREG(status.st_mode):
            return False
        folder = os.path.dirname(os.path.realpath(path))
        if not os.path.isdir(folder):
            raise InputError("the folder does not exist", place=str(path))
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, "no permission to write into the folder")
        return True
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: str | Path, error: OSError) -> InputError:
    return InputError(f"cannot be written: {error.strerror or error}", place=str(path))


def _status(path: str | Path) -> os.stat_result | None:
    """The status of a path, links followed; None if nothing is there."""
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _replace(
    target: Path, before: os.stat_result | None, write: Callable[[BinaryIO], object]
) -> None:
    """A temporary file beside the target, then a rename. before: the file that it replaces."""
    if before is not None and not os.access(target, os.W_OK):  # a rename would not check this
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    remove_abandoned(target)
    handle, temporary = temporary_beside(target, 0o666 if before is None else 0o600)
    try:
        with os.fdopen(handle, "wb") as stream:
            write(stream)
        if before is not None:
            _permit(temporary, before)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _permit(temporary: str, before: os.stat_result) -> None:
    """Set owner and permissions as before."""
    if sys.platform != "win32":
        with suppress(PermissionError):  # only root may change the owner
            os.chown(temporary, before.st_uid, before.st_gid)
    os.chmod(temporary, stat.S_IMODE(before.st_mode))


def _write_through(path: str | Path, write: Callable[[BinaryIO], object]) -> None:
    """Write to a device or a pipe, from an unnamed file that holds the complete content."""
    with tempfile.TemporaryFile() as whole:
        write(whole)
        whole.seek(0)
        with open(path, "wb") as stream:
            shutil.copyfileobj(whole, stream)


def packed(content: bytes, path: str | Path) -> bytes:
    """The content, compressed if the name ends in `.gz`."""
    return gzip.compress(content, mtime=0) if str(path).lower().endswith(".gz") else content


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write a file completely or not at all; `-` is standard output."""
    if str(path) == "-":
        sys.stdout.buffer.write(_for_terminal(content) if sys.stdout.isatty() else content)
        sys.stdout.buffer.flush()
    else:
        write_whole(path, lambda stream: stream.write(content))


def write_parts(path: str | Path, parts: Iterable[bytes]) -> None:
    """Write a file part by part, compressed if the name ends in `.gz`; completely or not at all.

    `-` is standard output, which receives the content once all parts are there.
    """

    def write(stream: BinaryIO) -> None:
        if str(path).lower().endswith(".gz"):
            with GzipFile(filename="", mode="wb", fileobj=stream, mtime=0) as packing:
                packing.writelines(parts)
        else:
            stream.writelines(parts)

    if str(path) == "-":
        write_bytes(path, b"".join(parts))
    else:
        write_whole(path, write)


def _for_terminal(content: bytes) -> bytes:
    """A text with its control characters shown; an `InputError` for what is not text."""
    try:
        return printable(content.decode()).encode()
    except UnicodeDecodeError:
        raise InputError(
            "the content is not text: name a file, or send it to another program", place="<stdout>"
        ) from None
