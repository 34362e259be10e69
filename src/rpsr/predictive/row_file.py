"""A file of JSON lines to which several surveys may append, each row once.

Whoever reads or appends holds a lock on the file meanwhile (advisory, where the system has such
locks), and before appending looks at what others have appended since.
"""

from __future__ import annotations

import io
import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from rpsr.errors import InputError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

if TYPE_CHECKING:
    from rpsr.predictive.survey import Row

_ROW_START = '{"domain": "'


class RowFile:
    """Rows kept in a file; a pipe or a device takes rows and has no earlier ones.

    fields: the keys that a row has.
    """

    def __init__(self, path: Path, fields: set[str]) -> None:
        self.path, self.fields = path, fields
        self._regular = not _is_special(path)
        self._read = 0  # bytes of whole rows that were looked at
        self._lines = 0
        self._there: dict[tuple[str, str | None], Row] = {}  # by source and stamp

    def rows(self) -> dict[str, Row]:
        """Rows by source, without those that have an error; a row cut off at the end is removed."""
        with self._locked() as stream:
            self._look(stream)
        return {row["source"]: row for row in self._there.values() if row["error"] is None}

    def append(self, row: Row) -> None:
        """Add a row, unless it is there: another survey may have answered the same meanwhile."""
        with self._locked() as stream:
            self._look(stream)
            other = self._there.get((row["source"], row["stamp"]))
            answered = other is not None and (other["error"] is None or row["error"] is not None)
            if answered and row["source"] != "-":  # standard input may say something else now
                return
            line = (json.dumps(row) + "\n").encode()
            stream.write(line)
            stream.flush()
            self._read, self._lines = self._read + len(line), self._lines + 1

    def _look(self, stream: BinaryIO) -> None:
        """Take note of the rows that were not looked at yet."""
        if not self._regular:
            return
        stream.seek(0, io.SEEK_END)
        if stream.tell() < self._read:  # somebody emptied it
            self._read = self._lines = 0
            self._there.clear()
        stream.seek(self._read)
        raw = stream.read()
        *lines, cut = raw.split(b"\n")
        for number, line in enumerate(lines, self._lines + 1):
            row = self._parsed(line)
            if row is None:
                raise InputError(
                    "not a row of an earlier survey", place=str(self.path), line=number
                )
            question = row["source"], row["stamp"]
            self._there.pop(question, None)  # the newest answers of a source come last
            self._there[question] = row
        self._read, self._lines = self._read + len(raw) - len(cut), self._lines + len(lines)
        if cut:
            start = _ROW_START.encode()
            if not cut.startswith(start) and not start.startswith(cut):
                message = "not a row of an earlier survey, not even a part of one"
                raise InputError(message, place=str(self.path), line=self._lines + 1)
            stream.truncate(self._read)  # its writer was killed: we hold the lock

    def _parsed(self, line: bytes) -> Row | None:
        try:
            row: Any = json.loads(line)
        except ValueError:
            return None
        whole = isinstance(row, dict) and row.keys() == self.fields
        return cast("Row", row) if whole else None

    @contextmanager
    def _locked(self) -> Generator[BinaryIO]:
        """The file, open for reading and appending, and nobody else's meanwhile."""
        try:
            with self.path.open("a+b" if self._regular else "ab") as stream:
                if fcntl is not None and self._regular:
                    fcntl.flock(stream, fcntl.LOCK_EX)  # closing the file gives it back
                yield stream
        except OSError as error:
            message = f"cannot be written: {error.strerror or error}"
            raise InputError(message, place=str(self.path)) from None


def _is_special(path: Path) -> bool:
    """Whether something other than a regular file or a folder is there."""
    try:
        return path.exists() and not path.is_file()
    except OSError:
        return False
