"""A file of JSON lines to which several surveys may append, each row once.

Reading and appending lock the file (advisory, if the system has such locks). Before a survey
appends, it reads the rows that others have appended.
"""

from __future__ import annotations

import io
import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from rpsr.errors import InputError
from rpsr.shards import MANIFEST_START, Manifest

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

if TYPE_CHECKING:
    from rpsr.predictive.survey import Row

_ROW_START = '{"domain": "'


class RowFile:
    """Rows kept in a file; a pipe or a device accepts rows and has no earlier ones.

    fields: the keys of a row. manifest: of the part of some work whose rows these are.
    """

    def __init__(self, path: Path, fields: set[str], manifest: Manifest | None = None) -> None:
        self.path, self.fields, self.manifest = path, fields, manifest
        self._regular = not _is_special(path)
        self._read = 0  # bytes of whole rows read so far
        self._lines = 0
        self._there: dict[tuple[str, str | None], Row] = {}  # by source and stamp

    def rows(self) -> dict[str, Row]:
        """Rows by source, without those with an error; an incomplete last row is removed."""
        with self._locked() as stream:
            self._look(stream)
        return {row["source"]: row for row in self._there.values() if row["error"] is None}

    def append(self, row: Row) -> None:
        """Add a row, unless another survey has added the same one."""
        with self._locked() as stream:
            self._look(stream)
            other = self._there.get((row["source"], row["stamp"]))
            answered = other is not None and (other["error"] is None or row["error"] is not None)
            if answered and row["source"] != "-":  # the content of standard input may differ
                return
            line = (json.dumps(row) + "\n").encode()
            stream.write(line)
            stream.flush()
            self._read, self._lines = self._read + len(line), self._lines + 1

    def _look(self, stream: BinaryIO) -> None:
        """Read the rows that were not read yet."""
        if not self._regular:
            return
        stream.seek(0, io.SEEK_END)
        if stream.tell() < self._read:  # another process emptied it
            self._read = self._lines = 0
            self._there.clear()
        stream.seek(self._read)
        raw = stream.read()
        *lines, cut = raw.split(b"\n")
        for number, line in enumerate(lines, self._lines + 1):
            if number == 1 and (manifest := Manifest.parsed(line, str(self.path))) is not None:
                if self.manifest is not None and manifest != self.manifest:
                    message = f"holds rows of other work, or of another part ({manifest.shard})"
                    raise InputError(message, place=str(self.path))
                continue
            row = self._parsed(line)
            if row is None:
                raise InputError("not a row of a survey", place=str(self.path), line=number)
            question = row["source"], row["stamp"]
            self._there.pop(question, None)  # the newest row of a source comes last
            self._there[question] = row
        self._read, self._lines = self._read + len(raw) - len(cut), self._lines + len(lines)
        if cut:
            starts = [_ROW_START.encode()] + [MANIFEST_START.encode()] * (self._read == 0)
            if not any(cut.startswith(start) or start.startswith(cut) for start in starts):
                message = "not a row of a survey, nor the beginning of one"
                raise InputError(message, place=str(self.path), line=self._lines + 1)
            stream.truncate(self._read)  # its writer was killed: this process holds the lock
        if self._read == 0 and self.manifest is not None:
            line = self.manifest.line.encode()
            stream.write(line)
            stream.flush()
            self._read, self._lines = len(line), 1

    def _parsed(self, line: bytes) -> Row | None:
        try:
            row: Any = json.loads(line)
        except ValueError:
            return None
        whole = isinstance(row, dict) and row.keys() == self.fields
        return cast("Row", row) if whole else None

    @contextmanager
    def _locked(self) -> Generator[BinaryIO]:
        """The file, open for reading and appending, and locked."""
        try:
            with self.path.open("a+b" if self._regular else "ab") as stream:
                if fcntl is not None and self._regular:
                    fcntl.flock(stream, fcntl.LOCK_EX)  # closing the file releases it
                yield stream
        except OSError as error:
            message = f"cannot be written: {error.strerror or error}"
            raise InputError(message, place=str(self.path)) from None


def _is_special(path: Path) -> bool:
    """Whether the path is neither a regular file nor a folder."""
    try:
        return path.exists() and not path.is_file()
    except OSError:
        return False
