"""Read episodes from JSON lines, one episode per line, plain or gzipped, line by line.

    {"actions": ["left", "left"], "observations": ["travel", "loading"], "rewards": [0, 1]}

Optional: "rewards", "propensities" (the probability with which each action was taken), "terminated"
(whether the task ended there, by default false), "truncated" (whether only the recording ended;
ignored, because it is implied by "terminated") and "states" (of a simulation).
"""

from __future__ import annotations

import gzip
import json
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from rpsr.errors import InputError
from rpsr.io.allowance import excess
from rpsr.io.files import GZIP_MAGIC, place_of
from rpsr.io.printable import shortened
from rpsr.logs.blocks import Block, Labels, Numbers, episode_error, numbers_of

JSON_SUFFIXES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
BLOCK = 2**12  # steps, about: few enough to stay in the processor's cache
BYTE_COST, VALUE_COST = 3, 64  # bytes of memory per byte of a line, and per value in it
PIECE = 2**16  # bytes of a line between two checks of the memory it needs
_LISTS = ("actions", "observations", "rewards", "propensities", "states")
_FLAGS = ("terminated", "truncated")
_KEYS = (*_LISTS, *_FLAGS)


@dataclass(frozen=True)
class _Episode:
    """One line: its number, its lists, all of one length, and whether the task ended."""

    line: int
    lists: dict[str, list[Any]]
    terminated: bool


@dataclass(frozen=True)
class StandardInput:
    """All of standard input, kept in memory, so that it can be read more than once, as a file."""

    content: bytes = field(repr=False)
    name: str = place_of("-")

    @staticmethod
    def read() -> StandardInput:
        """Read standard input to its end."""
        stream = getattr(sys.stdin, "buffer", None)
        if stream is None:
            raise InputError("standard input is closed", place=place_of("-"))
        return StandardInput(stream.read())

    def __str__(self) -> str:
        return self.name

    @property
    def size(self) -> int:
        """Bytes of the content."""
        return len(self.content)

    def open(self, _mode: str) -> BinaryIO:
        """A stream of the content."""
        return BytesIO(self.content)

    def is_dir(self) -> bool:
        """False: standard input is no folder."""
        return False


LogFile = Path | StandardInput


def size_of(path: LogFile) -> int:
    """Bytes of a file; 0 if unknown, as for a pipe."""
    return path.size if isinstance(path, StandardInput) else path.stat().st_size


def json_blocks(path: LogFile) -> Iterator[Block]:
    """The episodes of one file; those of a block have the same lists."""
    place = str(path)
    held: list[_Episode] = []
    number = size = 0  # the first episode held, and the steps of all of them
    try:
        for line, text in enumerate(_lines(path), start=1):
            if not text.strip():
                continue
            episode = _episode(text, place, line, number + len(held))
            if held and (size >= BLOCK or episode.lists.keys() != held[0].lists.keys()):
                yield _block(held, place, number)
                number, held, size = number + len(held), [], 0
            held.append(episode)
            size += len(episode.lists["actions"])
    except InputError:
        if held:  # report errors of earlier lines first
            yield _block(held, place, number)
        raise
    if held:
        yield _block(held, place, number)


def _block(held: list[_Episode], place: str, number: int) -> Block:
    columns = {
        name: list(chain.from_iterable(episode.lists[name] for episode in held))
        for name in held[0].lists
    }
    numbers: dict[str, Numbers | None] = {
        name: numbers_of(name, columns[name]) if name in columns else None
        for name in ("rewards", "propensities", "states")
    }
    return Block(
        place=place,
        number=number,
        lines=np.array([episode.line for episode in held]),
        offsets=np.cumsum([0, *(len(episode.lists["actions"]) for episode in held)]),
        actions=Labels.of(columns["actions"]),
        observations=Labels.of(columns["observations"]),
        terminated=np.array([episode.terminated for episode in held]),
        **numbers,
    )


def _lines(path: LogFile) -> Iterator[bytes]:
    place = str(path)
    try:
        with path.open("rb") as plain:
            packed = plain.read(2) == GZIP_MAGIC
            plain.seek(0)
            size = size_of(path)
            with gzip.GzipFile(fileobj=plain) if packed else plain as stream:
                number = 1
                while text := _line(stream, size, place, number):
                    yield text
                    number += 1
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"broken gzip: {error}", place=place) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", place=place) from None


def _line(stream: BinaryIO | gzip.GzipFile, size: int, place: str, number: int) -> bytes:
    """The next line; an error as soon as its first part needs too much memory."""
    pieces: list[bytes] = []
    length = values = 0
    while piece := stream.readline(PIECE):
        pieces.append(piece)
        length += len(piece)
        values += piece.count(b",")  # lists of lists need most: two bytes become an object
        if (problem := excess(BYTE_COST * length + VALUE_COST * values, size)) is not None:
            message = f"an episode of {length:,} bytes or more: {problem}"
            raise InputError(message, place=place, line=number)
        if piece.endswith(b"\n"):
            break
    return b"".join(pieces)


def _episode(text: bytes, place: str, line: int, number: int) -> _Episode:
    try:
        read: Any = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(
            f"not JSON: {error.msg}; expected one episode per line",
            place=place,
            line=line,
            column=error.colno,
        ) from None
    except UnicodeDecodeError:
        raise InputError("not UTF-8: expected text in JSON", place=place, line=line) from None
    except (ValueError, RecursionError):  # thousands of digits or of nested brackets
        raise InputError(
            "not JSON: expected one episode per line", place=place, line=line
        ) from None
    if not isinstance(read, dict):
        raise InputError(f"read {_short(read)}, expected a JSON object", place=place, line=line)
    if unknown := [name for name in read if name not in _KEYS]:
        message = f"read the key {unknown[0]!r}, expected one of {', '.join(_KEYS)}"
        raise episode_error(message, place, line, number)
    lists: dict[str, list[Any]] = {}
    for name in _LISTS:
        values = read.get(name)
        if values is None and name not in ("actions", "observations"):
            continue
        if not isinstance(values, list):
            message = f"{name}: read {_short(values)}, expected a list"
            raise episode_error(message, place, line, number)
        lists[name] = values
        expected = len(lists["actions"])
        if len(values) != expected:
            first = name == "observations" and len(values) == expected + 1
            hint = " (without one before the first action)" if first else ""
            message = f"read {len(values)} values, expected {expected}, one per action{hint}"
            raise episode_error(f"{name}: {message}", place, line, number)
    for name in _FLAGS:
        if not isinstance(flag := read.get(name, False), bool):
            message = f"{name}: read {_short(flag)}, expected true or false"
            raise episode_error(message, place, line, number)
    return _Episode(line, lists, read.get("terminated", False))


def _short(value: Any) -> str:
    if value is None:
        return "nothing"
    return shortened(json.dumps(value))
