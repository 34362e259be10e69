"""Work in N parts that run anywhere, and their rows put together again.

Part I of N has the items number I, I + N, I + 2N, ... of the work. Its rows go to a file of JSON
lines, whose first line, the manifest, lists all items of the work:

    {"shard": "2/5", "key": ["source"], "timings": ["seconds"], "items": [["tiger"], ...],
     "asked": "0.1.0 Options(...)"}

`asked` is what was asked of every item: files with other options, or of another version, are parts
of different work. The fields in `key` identify a row. Rows with the same key must be equal,
except for the fields in `timings`; a row without an error replaces one with an error. So parts can
be run again, and `merged` knows which rows are missing, and which contradict each other.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

from rpsr._version import __version__
from rpsr.errors import InputError

Item = TypeVar("Item")
Row = dict[str, Any]
Key = tuple[Any, ...]
SURVEY_KEY = ("source",)  # of rows without a manifest
MANIFEST_START = '{"shard": '


@dataclass(frozen=True)
class Shard:
    """Part `index`, from 1, of `count` parts."""

    index: int
    count: int

    @staticmethod
    def parsed(text: str) -> Shard:
        """A part from `I/N`, such as 2/5."""
        match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text.strip())
        index, count = map(int, match.groups()) if match else (0, 0)
        if not 1 <= index <= count:
            raise ValueError(f"read {text!r}, expected I/N, such as 2/5, with I from 1 to N")
        return Shard(index, count)

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def select(self, items: Sequence[Item]) -> list[Item]:
        """The items of this part."""
        return list(items[self.index - 1 :: self.count])


@dataclass(frozen=True)
class Manifest:
    """The first line of a file of rows: all items of the work, and how rows are compared.

    shard: which part of the work the file is, `I/N`, or None for rows of several parts. key: the
    fields that identify a row. timings: the fields in which equal rows may differ. asked: the
    version and the options of the work.
    """

    shard: str | None
    key: tuple[str, ...]
    timings: tuple[str, ...]
    items: tuple[Key, ...]
    asked: str = __version__

    @property
    def line(self) -> str:
        """The first line of the file."""
        return json.dumps(vars(self)) + "\n"

    @staticmethod
    def parsed(line: str | bytes, place: str) -> Manifest | None:
        """The manifest in a line; None if it is none, an `InputError` if it is a wrong one."""
        read = parsed_object(line)
        if read is None or not {"shard", "items"} <= read.keys():
            return None
        wrong = "the first line, the manifest, is damaged or written by another version of rpsr"
        if read.keys() != Manifest.__dataclass_fields__.keys() or not _is_manifest(read):
            raise InputError(wrong, place=place, line=1)
        items = tuple(map(tuple, read["items"]))
        key, timings = tuple(read["key"]), tuple(read["timings"])
        return Manifest(read["shard"], key, timings, items, read["asked"])

    def same_work(self, other: Manifest) -> bool:
        """Whether both files are parts of the same work."""
        return (self.key, self.items, self.asked) == (other.key, other.items, other.asked)


def parsed_object(line: str | bytes) -> Row | None:
    """The JSON object in a line; None if there is no such."""
    try:
        read: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast("Row", read) if isinstance(read, dict) else None


def _is_manifest(read: Row) -> bool:
    """Whether all values of a manifest are of their kinds, and every item is there once."""
    texts, items = [read["key"], read["timings"]], read["items"]
    if not isinstance(read["asked"], str) or not (read["shard"] is None or _is_part(read["shard"])):
        return False
    if not all(isinstance(keys, list) and all(isinstance(t, str) for t in keys) for keys in texts):
        return False
    if not isinstance(items, list) or not all(isinstance(item, list) for item in items):
        return False
    whole = all(len(item) == len(read["key"]) and all(map(_is_plain, item)) for item in items)
    return whole and len(set(map(tuple, items))) == len(items)


def _is_part(text: Any) -> bool:
    try:
        return bool(Shard.parsed(text)) if isinstance(text, str) else False
    except ValueError:
        return False


def _is_plain(value: Any) -> bool:
    """Whether a value can tell rows apart."""
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, str | int)


@dataclass(frozen=True)
class Merged:
    """Rows of several parts in the order of the work; which are missing, and what contradicts.

    manifest: of the whole work; None if no file has one, so that nothing is known to be missing.
    """

    rows: list[Row]
    missing: list[Key] = field(default_factory=list[Key])
    contradictions: list[str] = field(default_factory=list[str])
    manifest: Manifest | None = None

    @property
    def failed(self) -> bool:
        """Whether some row has an error."""
        return any(row.get("error") is not None for row in self.rows)

    def content(self) -> bytes:
        """The rows as JSON lines, to be merged again; a complete survey needs no manifest."""
        head = ""
        if self.manifest is not None and (self.missing or self.manifest.key != SURVEY_KEY):
            head = self.manifest.line
        return (head + "".join(json.dumps(row) + "\n" for row in self.rows)).encode()

    def notes(self) -> list[str]:
        """Sentences that name missing rows, by part."""
        lines: list[str] = []
        if self.manifest is None or not self.missing:
            return lines
        places = {key: place for place, key in enumerate(self.manifest.items)}
        counts = {int(s.partition("/")[2]) for s in [self.manifest.shard] if s}
        for key in self.missing:
            part = "".join(f" (part {places[key] % n + 1}/{n})" for n in counts)
            lines.append(f"missing: {named(key)}{part}")
        return lines


def named(key: Key) -> str:
    """A key in a message."""
    return " ".join(map(str, key))


def merged(paths: Iterable[str | Path]) -> Merged:
    """The rows of some files, each key once; an `InputError` for what is not a file of rows."""
    whole: Manifest | None = None
    first = ""
    files: list[tuple[str, list[Row]]] = []
    contradictions: list[str] = []
    for path in map(str, paths):
        manifest, rows = _read(path)
        if manifest is not None and whole is None:
            whole, first = manifest, path
        elif manifest is not None and whole is not None and not manifest.same_work(whole):
            contradictions.append(f"{path} and {first} are parts of different work")
        files.append((path, rows))
    key = SURVEY_KEY if whole is None else whole.key
    timings = ("seconds",) if whole is None else whole.timings
    items = set[Key]() if whole is None else set(whole.items)
    kept: dict[Key, tuple[str, Row]] = {}
    for path, rows in files:
        for number, row in enumerate(rows, 1):
            name = key_of(row, key, f"row {number}", path)
            if whole is not None and name not in items and not contradictions:
                contradictions.append(
                    f"{path} has a row of {named(name)}, which is not part of the work in {first}"
                )
            other = kept.get(name)
            if other is None or (other[1].get("error") and not row.get("error")):
                kept[name] = (path, row)
            elif not row.get("error") or other[1].get("error"):
                different = _different(other[1], row, timings)
                if different and not row.get("error"):
                    where = f"{other[0]} and {path} differ in {', '.join(different)}"
                    contradictions.append(f"{named(name)}: {where}")
    if whole is None:
        return Merged([row for _, row in kept.values()], [], contradictions)
    ordered = [kept[name][1] for name in whole.items if name in kept]
    missing = [name for name in whole.items if name not in kept]
    return Merged(ordered, missing, contradictions, whole)


def _different(one: Row, other: Row, timings: Sequence[str]) -> list[str]:
    """The fields in which two rows differ, timings left out."""
    names = [name for name in (one | other) if name not in timings]
    return [name for name in names if not _equal(one.get(name), other.get(name))]


def _equal(one: Any, other: Any) -> bool:
    """Whether two values are equal; as text, NaN equals itself."""
    return one == other or json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def key_of(row: Row, key: Sequence[str], what: str, place: str) -> Key:
    """The fields that identify a row."""
    for part in key:
        if part not in row:
            raise InputError(f"{what} has no {part!r}", place=place)
        if not _is_plain(row[part]):
            raise InputError(f"{what}: {part!r} is neither a text nor a number", place=place)
    return tuple(row[part] for part in key)


def _read(path: str) -> tuple[Manifest | None, list[Row]]:
    try:
        lines = Path(path).read_bytes().split(b"\n")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", place=path) from None
    manifest = Manifest.parsed(lines[0], path)
    rows: list[Row] = []
    for number, line in enumerate(lines[manifest is not None :], 1 + (manifest is not None)):
        if not line.strip():
            continue
        row = parsed_object(line)
        if row is None:
            if number == len(lines):  # its writer was killed: the row is missing
                continue
            raise InputError(
                "read a line that is not a JSON object, expected a row", place=path, line=number
            )
        rows.append(row)
    if manifest is None and not rows:
        raise InputError("contains no rows of results, expected a file of rows", place=path)
    return manifest, rows
