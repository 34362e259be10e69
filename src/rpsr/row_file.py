"""A file of JSON lines to which several processes may append, each row once.

Reading and appending lock the file (advisory, if the system has such locks). Before a process
appends, it reads the rows that others have appended. Nothing is rewritten: an incomplete last row,
whose writer was killed, is cut off.
"""

from __future__ import annotations

import io
import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from rpsr.errors import InputError
from rpsr.shards import MANIFEST_START, Key, Manifest, Row, key_of, parsed_object

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None


class RowFile:
    """Rows kept in a file; a pipe or a device accepts rows and has no earlier ones.

    key: the fields that identify a row. manifest: of the part of some work whose rows
    these are; the file begins with it. fields: the keys of a row, the first one first; by default
    any. The field `error` of a row is None or missing if there was no error.
    """

    def __init__(
        self,
        path: str | Path,
        key: Sequence[str],
        manifest: Manifest | None = None,
        *,
        fields: Sequence[str] = (),
    ) -> None:
        self.path, self.key, self.manifest, self.fields = Path(path), key, manifest, fields
        self._regular = not _is_special(self.path)
        self._read = 0  # bytes of whole rows read so far
        self._lines = 0
        self._there: dict[Key, Row] = {}

    def rows(self) -> dict[Key, Row]:
        """Rows by key, without those with an error; an incomplete last row is removed."""
        with self._locked() as stream:
            self._look(stream)
        return {key: row for key, row in self._there.items() if row.get("error") is None}

    def append(self, row: Row, *, again: bool = False) -> None:
        """Add a row, unless there is one with its key; again: even then.

        A row without an error is added to one with an error.
        """
        name = key_of(row, self.key, "a row", str(self.path))
        with self._locked() as stream:
            self._look(stream)
            other = self._there.get(name)
            failed = row.get("error") is not None
            if other is not None and not again and (other.get("error") is None or failed):
                return
            line = (json.dumps(row) + "\n").encode()
            stream.write(line)
            stream.flush()
            self._read, self._lines = self._read + len(line), self._lines + 1
            self._keep(name, row)

    def _keep(self, name: Key, row: Row) -> None:
        self._there.pop(name, None)  # the newest row comes last
        self._there[name] = row

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
            if number == 1 and self._is_manifest(line):
                continue
            row = parsed_object(line)
            if row is None or (self.fields and row.keys() != set(self.fields)):
                raise InputError(
                    "not a row of results of this command; choose another file",
                    place=str(self.path),
                    line=number,
                )
            self._keep(key_of(row, self.key, f"line {number}", str(self.path)), row)
        self._read, self._lines = self._read + len(raw) - len(cut), self._lines + len(lines)
        if cut:
            self._check_cut(cut)
            stream.truncate(self._read)  # its writer was killed: this process holds the lock
        if self._read == 0 and self.manifest is not None:
            line = self.manifest.line.encode()
            stream.write(line)
            stream.flush()
            self._read, self._lines = len(line), 1

    def _is_manifest(self, line: bytes) -> bool:
        """Whether the first line is a manifest; an error if it is that of other work."""
        manifest = Manifest.parsed(line, str(self.path))
        if self.manifest is not None and manifest != self.manifest:
            part = "" if manifest is None else f" ({manifest.shard})"
            message = (
                f"contains rows of other work, or of another part{part}; choose another file, or "
                "delete this one to start anew"
            )
            raise InputError(message, place=str(self.path))
        return manifest is not None

    def _check_cut(self, cut: bytes) -> None:
        """Refuse to cut off text that is not the beginning of a row, or of the manifest."""
        first = f'{{"{self.fields[0]}": ' if self.fields else '{"'
        starts = [first.encode()] + [MANIFEST_START.encode()] * (self._read == 0)
        if not any(cut.startswith(start) or start.startswith(cut) for start in starts):
            message = "not the beginning of a row of results; choose another file"
            raise InputError(message, place=str(self.path), line=self._lines + 1)

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
