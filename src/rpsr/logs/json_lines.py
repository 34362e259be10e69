"""Read episodes from JSON lines, one episode per line, plain or gzipped, line by line.

    {"actions": ["left", "left"], "observations": ["travel", "loading"], "rewards": [0, 1]}

Optional: "rewards", "propensities" (the probability with which each action was taken), "terminated"
(whether the task ended there, by default false), "truncated" (whether the recording ended, by
default where the task did not) and "states" (of a simulation). Other keys are ignored, with a note.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from rpsr.errors import InputError
from rpsr.io.allowance import excess
from rpsr.io.files import GZIP_MAGIC, place_of, standard_input
from rpsr.logs.blocks import Block, Labels, Numbers, episode_error, numbers_of
from rpsr.printable import shortened

JSON_SUFFIXES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
BLOCK = 2**12  # steps, about: few enough to stay in the processor's cache
BYTE_COST, VALUE_COST = 3, 64  # bytes of memory per byte of a line, and per value in it
PIECE = 2**16  # bytes of a line between two checks of the memory it needs
_LISTS = ("actions", "observations", "rewards", "propensities", "states")
_FLAGS = ("terminated", "truncated")
KEYS = (*_LISTS, *_FLAGS)


@dataclass(frozen=True)
class _Episode:
    """One line: its number, its lists, all of one length, and whether the task ended."""

    line: int
    lists: dict[str, list[Any]]
    terminated: bool
    truncated: bool
    ignored: tuple[str, ...]


@dataclass(frozen=True)
class StandardInput:
    """All of standard input, kept in memory, so that it can be read more than once, as a file."""

    content: bytes = field(repr=False)
    name: str = place_of("-")

    @staticmethod
    def read() -> StandardInput:
        """Read standard input to its end."""
        return StandardInput(standard_input().read())

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
    lines = enumerate(_lines(path), start=1)
    return _blocks(
        ((line, _parsed(text, place, line)) for line, text in lines if text.strip()), place
    )


def blocks_of(episodes: Iterable[Any], place: str) -> Iterator[Block]:
    """Episodes that are dictionaries already; errors count them from 0."""
    return _blocks(enumerate(episodes), place)


def _blocks(episodes: Iterable[tuple[int, Any]], place: str) -> Iterator[Block]:
    held: list[_Episode] = []
    number = size = 0  # the first episode held, and the steps of all of them
    try:
        for line, read in episodes:
            episode = _episode(read, place, line, number + len(held))
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

    def numbers(name: str) -> Numbers | None:
        return numbers_of(name, columns[name]) if name in columns else None

    return Block(
        place=place,
        number=number,
        lines=np.array([episode.line for episode in held]),
        offsets=np.cumsum([0, *(len(episode.lists["actions"]) for episode in held)]),
        actions=Labels.of(columns["actions"]),
        observations=Labels.of(columns["observations"]),
        rewards=numbers("rewards"),
        propensities=numbers("propensities"),
        states=numbers("states"),
        terminated=np.array([episode.terminated for episode in held]),
        truncated=np.array([episode.truncated for episode in held]),
        ignored=tuple(dict.fromkeys(name for episode in held for name in episode.ignored)),
    )


def _lines(path: LogFile) -> Iterator[bytes]:
    with opened(path) as stream:
        number = 1
        while text := _line(stream, size_of(path), str(path), number):
            yield text
            number += 1


@contextmanager
def opened(path: LogFile) -> Generator[BinaryIO]:
    """The content of a file, unpacked if it is gzipped; reading errors become input errors."""
    place = str(path)
    try:
        with path.open("rb") as plain:
            packed = plain.read(2) == GZIP_MAGIC
            plain.seek(0)
            with gzip.GzipFile(fileobj=plain) if packed else plain as stream:
                yield cast(BinaryIO, stream)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"broken gzip: {error}", place=place) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", place=place) from None


def _line(stream: BinaryIO, size: int, place: str, number: int) -> bytes:
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


def _parsed(text: bytes, place: str, line: int) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(
            f"not JSON: {error.msg}; expected one episode per line{_hint(place)}",
            place=place,
            line=line,
            column=error.colno,
        ) from None
    except UnicodeDecodeError:
        raise InputError("not UTF-8: expected text in JSON", place=place, line=line) from None
    except (ValueError, RecursionError):  # thousands of digits or of nested brackets
        raise InputError(
            f"not JSON: expected one episode per line{_hint(place)}", place=place, line=line
        ) from None


def _hint(place: str) -> str:
    """Why a file with some other suffix was read as JSON lines."""
    if place == place_of("-") or place.lower().endswith(JSON_SUFFIXES):
        return ""
    return " (read as JSON lines; for a table use a name that ends in .csv or .parquet)"


def _episode(read: Any, place: str, line: int, number: int) -> _Episode:
    if not isinstance(read, dict):
        raise InputError(f"read {_short(read)}, expected a JSON object", place=place, line=line)
    lists: dict[str, list[Any]] = {}
    for name in _LISTS:
        values = read.get(name)
        if values is None and name not in ("actions", "observations"):
            continue
        if not isinstance(values, list):
            keys = "" if name in read else f"; the keys are {shortened(', '.join(read) or 'none')}"
            message = f"{name}: read {_short(values)}, expected a list{keys}"
            raise episode_error(message, place, line, number)
        lists[name] = values
        expected = len(lists["actions"])
        if len(values) != expected:
            first = name == "observations" and len(values) == expected + 1
            hint = "; leave out the observation before the first action" if first else ""
            message = f"read {len(values)} values, expected {expected}, one per action{hint}"
            raise episode_error(f"{name}: {message}", place, line, number)
    for name in _FLAGS:
        if not isinstance(flag := read.get(name, False), bool):
            message = f"{name}: read {_short(flag)}, expected true or false"
            raise episode_error(message, place, line, number)
    ignored = tuple(name for name in read if name not in KEYS)
    terminated, truncated = (read.get(name, False) for name in _FLAGS)
    return _Episode(line, lists, terminated, truncated, ignored)


def _short(value: Any) -> str:
    if value is None:
        return "nothing"
    return shortened(json.dumps(value, default=repr))
