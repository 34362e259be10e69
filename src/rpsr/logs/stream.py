"""A log of any size, passed through in chunks: files, or folders of files, in order of name.

A `LogStream` can be gone through again and again, which estimators do: the log is never in memory
as a whole. The names of actions and observations, where they are not given, take a pass of their
own, the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from rpsr.errors import InputError
from rpsr.logs.episodes import Alphabet, Columns, Episode, alphabets, chunks
from rpsr.logs.json_lines import json_episodes
from rpsr.logs.parquet import parquet_episodes
from rpsr.logs.trajectories import Trajectories

CHUNK = 2**18  # steps
_JSON = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
_PARQUET = (".parquet", ".pq")
Paths = str | Path | Sequence[str | Path]


@dataclass(frozen=True)
class LogStream:
    """The episodes of some files, in order; iterating gives `Trajectories` of about `chunk` steps.

    A chunk holds whole episodes, so an episode must fit into memory.
    """

    files: tuple[Path, ...]
    action_names: tuple[str, ...] | None = None
    observation_names: tuple[str, ...] | None = None
    columns: Columns = field(default_factory=Columns)
    chunk: int = CHUNK

    @cached_property
    def _alphabets(self) -> tuple[Alphabet, Alphabet]:
        return alphabets(self._episodes(), self.action_names, self.observation_names)

    @property
    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names of actions and of observations."""
        actions, observations = self._alphabets
        return actions.names, observations.names

    def _episodes(self) -> Iterator[Episode]:
        for file in self.files:
            if file.name.lower().endswith(_PARQUET):
                yield from parquet_episodes(file, self.columns)
            else:
                yield from json_episodes(file)

    def __iter__(self) -> Iterator[Trajectories]:
        """The log from its beginning, chunk by chunk; at least one, though it may be empty."""
        actions, observations = self._alphabets
        empty = True
        for chunk in chunks(self._episodes(), actions, observations, self.chunk):
            empty = False
            yield chunk
        if empty:
            yield Trajectories(actions.names, observations.names, *_NOTHING)  # pyright: ignore


_NOTHING = ([], [], [0], [])


def stream_logs(
    paths: Paths,
    *,
    action_names: Sequence[str] | None = None,
    observation_names: Sequence[str] | None = None,
    columns: Columns | None = None,
    chunk: int = CHUNK,
) -> LogStream:
    """A log as a stream of chunks: a file, a folder of files, or several of these.

    Files are JSON lines (`.jsonl`, `.ndjson`, also `.gz`) or Parquet (`.parquet`); a file of any
    other name is read as JSON lines, and left out of a folder, as are hidden ones.
    """
    named = [paths] if isinstance(paths, str | Path) else list(paths)
    if not named:
        raise InputError("read no file, expected a file or a folder, or several")
    files = tuple(file for path in named for file in _files(Path(path)))
    return LogStream(
        files,
        None if action_names is None else tuple(action_names),
        None if observation_names is None else tuple(observation_names),
        columns or Columns(),
        chunk,
    )


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise InputError("there is no such file or folder", place=str(path))
    if not path.is_dir():
        return [path]
    files = sorted(
        file
        for file in path.iterdir()
        if file.name.lower().endswith((*_JSON, *_PARQUET)) and not file.name.startswith(".")
    )
    if not files:
        expected = ", ".join((*_JSON, *_PARQUET))
        raise InputError(f"holds no log; expected files named {expected}", place=str(path))
    return files
