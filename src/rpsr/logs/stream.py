"""Stream a log of any size in chunks: files, or folders of files, in order of name.

Estimators iterate over a `LogStream` several times, so the log is never in memory as a whole. If
the names of actions and observations are not given, a first pass collects them.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from rpsr.errors import InputError
from rpsr.io.allowance import excess
from rpsr.io.file_kinds import expect_kind
from rpsr.io.records import Ints
from rpsr.logs.blocks import Block
from rpsr.logs.columns import ROLES, Columns, ColumnsLike, ignored_note
from rpsr.logs.episodes import NOTHING, Alphabet, alphabets, chunks
from rpsr.logs.json_lines import JSON_SUFFIXES, KEYS, LogFile, StandardInput, json_blocks, size_of
from rpsr.logs.tables.csv_files import CSV_SUFFIXES, csv_blocks
from rpsr.logs.tables.parquet import (
    PARQUET_SUFFIXES,
    RowGroups,
    parquet_blocks,
    row_count,
    row_groups,
)
from rpsr.logs.trajectories import Trajectories

TABLE_SUFFIXES = (*CSV_SUFFIXES, *PARQUET_SUFFIXES)
LOG_SUFFIXES = (*JSON_SUFFIXES, *TABLE_SUFFIXES)
CHUNK = 2**18  # steps
PARTITION = 2**20  # steps, about
AnyFile = LogFile | RowGroups
STEP_BYTES = 120  # of memory per step of a whole log
SOME = 3  # names of files in a message
Paths = str | Path | Sequence[str | Path]


@dataclass(frozen=True)
class LogStream:
    """The episodes of some files, in order; iterating gives `Trajectories` of about `chunk` steps.

    A chunk holds whole episodes, so an episode must fit into memory.
    """

    files: tuple[AnyFile, ...]
    action_names: tuple[str, ...] | None = None
    observation_names: tuple[str, ...] | None = None
    columns: Columns = field(default_factory=Columns)
    chunk: int = CHUNK
    first_episode: int = 0  # its number, if the files are a part of a log
    _noted: set[str] = field(default_factory=set[str], compare=False)  # keys said to be ignored

    @cached_property
    def _alphabets(self) -> tuple[Alphabet, Alphabet]:
        blocks = self._counted(self._blocks())
        return alphabets(blocks, self.action_names, self.observation_names)

    @property
    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names of actions and of observations."""
        actions, observations = self._alphabets
        return actions.names, observations.names

    def _blocks(self) -> Iterator[Block]:
        """The episodes of all files; at the end, one note per format names what was ignored."""
        ignored: dict[tuple[str, ...], dict[str, set[str]]] = {}
        for file in self.files:
            for block in self._of_file(file):
                if block.ignored:
                    by_place = ignored.setdefault(ROLES if block.columns else KEYS, {})
                    by_place.setdefault(block.place, set()).update(block.ignored)
                yield block
        for known, places in ignored.items():
            names = sorted(set[str]().union(*places.values()) - self._noted)
            self._noted.update(names)
            if names:
                warnings.warn(ignored_note(names, known, list(places)), stacklevel=2)

    def partitions(self) -> list[LogStream]:
        """The log in parts of whole episodes, in order: files, and large Parquet in row groups.

        Each part is a stream that can be read elsewhere. The parts depend on the files alone.
        """
        actions, observations = self.names
        made = [
            LogStream((part,), actions, observations, self.columns, self.chunk)
            for parts in self._parts.values()
            for part in parts
        ]
        counts = [count for counts in self._counts.values() for count in counts.tolist()]
        if not any(counts):  # names were given, so that the files were not read yet
            counts = [sum(chunk.episodes for chunk in part) for part in made]
        firsts = np.cumsum([0, *counts[:-1]]).tolist()
        numbered = zip(made, firsts, counts, strict=True)
        some = [replace(part, first_episode=first) for part, first, count in numbered if count]
        return some or [self]  # row groups in which no episode begins are left out

    @cached_property
    def _parts(self) -> dict[str, list[AnyFile]]:
        """The parts of each file, by its place."""
        parts: dict[str, list[AnyFile]] = {}
        for file in self.files:
            if isinstance(file, Path) and _is_parquet(file):
                parts[str(file)] = [*row_groups(file.absolute(), PARTITION)]
            else:
                parts[str(file)] = [file.absolute() if isinstance(file, Path) else file]
        return parts

    @cached_property
    def _counts(self) -> dict[str, Ints]:
        """The number of episodes that begin in each part, as far as blocks were counted."""
        return {place: np.zeros(len(p), dtype=np.int64) for place, p in self._parts.items()}

    def _counted(self, blocks: Iterable[Block]) -> Iterator[Block]:
        """The blocks of all files, whose episodes are counted as they pass."""
        for counts in self._counts.values():
            counts[:] = 0
        for block in blocks:
            parts = self._parts.get(block.place, [])
            ends = [part.rows[1] for part in parts if isinstance(part, RowGroups)]
            if ends:
                at = np.searchsorted(ends, block.lines, side="right")
                np.add.at(self._counts[block.place], at, 1)
            elif parts:
                self._counts[block.place][0] += len(block.lines)
            yield block

    def _of_file(self, file: AnyFile) -> Iterator[Block]:
        if isinstance(file, RowGroups):
            return parquet_blocks(file.path, self.columns, file)
        if isinstance(file, Path) and _is_parquet(file):
            return parquet_blocks(file, self.columns)
        if isinstance(file, Path) and file.name.lower().endswith(CSV_SUFFIXES):
            return csv_blocks(file, self.columns)
        return json_blocks(file)

    def __iter__(self) -> Iterator[Trajectories]:
        """The chunks of the log; at least one, which may be empty."""
        return self._coded(self._blocks(), *self._alphabets)

    def held(self, most: float = math.inf) -> list[Trajectories] | None:
        """All chunks, from one pass over the files; None if they have more than `most` steps."""
        held: list[Block] = []
        whole = [file for file in self.files if not isinstance(file, RowGroups)]
        steps, size = 0, sum(map(size_of, whole))
        tables = [file for file in whole if isinstance(file, Path) and _is_parquet(file)]
        rows = 0
        for file in tables:  # before any row is read: a few bytes can stand for millions of rows
            rows += row_count(file)
            if rows > most:
                return None
            if (problem := excess(STEP_BYTES * rows, size)) is not None:
                raise InputError(f"{rows:,} rows: {problem}", place=str(file))
        try:
            for block in self._blocks():
                held.append(block)
                steps += block.steps
                if steps > most:
                    return None
                if (problem := excess(STEP_BYTES * steps, size)) is not None:
                    raise InputError(f"{steps:,} steps or more: {problem}", place=block.place)
        except InputError:
            _ = self.names  # report errors of earlier names first
            raise
        names = alphabets(held, self.action_names, self.observation_names)
        return list(self._coded(held, *names))

    def _coded(
        self, blocks: Iterable[Block], actions: Alphabet, observations: Alphabet
    ) -> Iterator[Trajectories]:
        empty = True
        for chunk in chunks(blocks, actions, observations, self.chunk):
            empty = False
            yield chunk
        if empty:
            yield Trajectories(actions.names, observations.names, *NOTHING)


def stream_logs(
    paths: Paths,
    *,
    action_names: Sequence[str] | None = None,
    observation_names: Sequence[str] | None = None,
    columns: ColumnsLike | None = None,
    chunk: int = CHUNK,
) -> LogStream:
    """A log as a stream of chunks: a file, a folder of files, or several of these.

    Files are JSON lines (`.jsonl`, `.ndjson`), CSV (`.csv`, `.tsv`), all of these also gzipped
    (`.gz`), or Parquet (`.parquet`). A file with another suffix is read as JSON lines if named
    itself; in a folder, such files and subfolders are skipped with a warning, hidden ones silently.
    `-` is JSON lines on standard input, which are kept in memory. columns: column names of CSV and
    Parquet; an error if no file is a table.
    """
    named = [paths] if isinstance(paths, str | Path) else list(paths)
    if not named:
        raise InputError("read no path, expected at least one file or folder")
    if [str(path) for path in named].count("-") > 1:
        raise InputError("read '-' twice, expected '-' once: standard input can be read only once")
    files = tuple(
        file
        for path in named
        for file in ([StandardInput.read()] if str(path) == "-" else _files(Path(path)))
    )
    if columns is not None and not any(map(_is_table, files)):
        expected = f"expected a name ending in {', '.join(TABLE_SUFFIXES)}"
        raise InputError(f"columns: read {_some(files)}, but only tables have columns; {expected}")
    return LogStream(
        files,
        None if action_names is None else tuple(action_names),
        None if observation_names is None else tuple(observation_names),
        Columns.of(columns),
        chunk,
    )


def _files(path: Path) -> Sequence[LogFile]:
    if not path.exists():
        raise InputError("no such file or folder", place=str(path))
    if not path.is_dir():
        expect_kind(str(path), "log")
        return [path]
    entries = sorted(file for file in path.iterdir() if not file.name.startswith("."))
    files = [
        file for file in entries if file.name.lower().endswith(LOG_SUFFIXES) and not file.is_dir()
    ]
    others = sorted(set(entries) - set(files))
    if not files:
        read = f"; read {_some(others)}" if others else ""
        expected = f"expected files named {', '.join(LOG_SUFFIXES)}, not in subfolders"
        raise InputError(f"contains no log{read}; {expected}", place=str(path))
    if others:
        read = f"logs have names ending in {', '.join(LOG_SUFFIXES)}, and subfolders are not read"
        warnings.warn(f"{path}: skipped {_some(others)}; {read}", stacklevel=4)
    return files


def _is_parquet(file: LogFile) -> bool:
    return file.name.lower().endswith(PARQUET_SUFFIXES)


def _is_table(file: LogFile) -> bool:
    return file.name.lower().endswith(TABLE_SUFFIXES)


def _some(files: Sequence[LogFile]) -> str:
    """The first few names; a folder ends in a slash."""
    names = [file.name + "/" * file.is_dir() for file in files[:SOME]]
    return ", ".join(names) + (f" and {len(files) - SOME} more" if len(files) > SOME else "")
