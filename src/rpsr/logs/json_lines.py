"""Episodes from JSON lines, one episode a line, plain or gzipped, read line by line.

    {"actions": ["left", "left"], "observations": ["travel", "loading"], "rewards": [0, 1]}

Optional beside these: "propensities" (the probability with which each action was taken),
"terminated" (whether the task ended there; false where missing), "truncated" (whether only the
recording did, which is what an episode that did not terminate means anyway) and "states" (of a
simulation). "rewards" may be missing too.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rpsr.errors import InputError
from rpsr.io.files import GZIP_MAGIC
from rpsr.logs.episodes import Episode

JSON_SUFFIXES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
_LISTS = ("actions", "observations", "rewards", "propensities", "states")
_FLAGS = ("terminated", "truncated")
_KEYS = (*_LISTS, *_FLAGS)


def json_episodes(path: Path) -> Iterator[Episode]:
    """The episodes of one file."""
    number = 0
    for line, text in enumerate(_lines(path), start=1):
        if text.strip():
            yield _episode(text, str(path), line, number)
            number += 1


def _lines(path: Path) -> Iterator[bytes]:
    place = str(path)
    try:
        with path.open("rb") as plain:
            packed = plain.read(2) == GZIP_MAGIC
            plain.seek(0)
            with gzip.GzipFile(fileobj=plain) if packed else plain as stream:
                yield from stream
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"broken gzip: {error}", place=place) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", place=place) from None


def _episode(text: bytes, place: str, line: int, number: int) -> Episode:
    try:
        read: Any = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(
            f"not JSON: {error.msg}; expected one episode a line",
            place=place,
            line=line,
            column=error.colno,
        ) from None
    except UnicodeDecodeError:
        raise InputError("not UTF-8: expected text in JSON", place=place, line=line) from None
    except (ValueError, RecursionError):  # numbers of thousands of digits, thousands of brackets
        raise InputError("not JSON: expected one episode a line", place=place, line=line) from None
    if not isinstance(read, dict):
        raise InputError(f"read {_short(read)}, expected an object", place=place, line=line)
    lists: dict[str, list[Any] | None] = {name: read.get(name) for name in _LISTS}
    episode = Episode(place, line, number, [], [], None, None, False)
    if unknown := [name for name in read if name not in _KEYS]:
        raise episode.error(f"read a key {unknown[0]!r}, expected {', '.join(_KEYS)}")
    for name, values in lists.items():
        needed = name in ("actions", "observations")
        if values is None and not needed:
            continue
        if not isinstance(values, list):
            raise episode.error(f"{name}: read {_short(values)}, expected a list")
        expected = len(lists["actions"] or ())
        if len(values) != expected:
            first = name == "observations" and len(values) == expected + 1
            hint = " (none before the first action)" if first else ""
            raise episode.error(
                f"{name}: read {len(values)} of them, expected {expected}, one an action{hint}"
            )
        setattr(episode, name, values)
    for name in _FLAGS:
        if not isinstance(flag := read.get(name, False), bool):
            raise episode.error(f"{name}: read {_short(flag)}, expected true or false")
    episode.terminated = read.get("terminated", False)
    return episode


def _short(value: Any) -> str:
    if value is None:
        return "nothing"
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:37] + "..."
