"""Read episodes from Parquet, one row per step, in batches; needs pyarrow (the extra `data`).

The rows of an episode are consecutive and in order: `step` increases by one, from 0 in every
episode of a file or from 1 in every one, so that a split episode is detected. `terminated` may be
true only in the last row of an episode.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rpsr.errors import InputError
from rpsr.io.allowance import excess
from rpsr.io.records import Bools, Ints
from rpsr.logs.arrow import changes, decoded, differs, flags_of, is_null, labels_of, numbers_in
from rpsr.logs.blocks import Block, episode_error
from rpsr.logs.episodes import Columns

PARQUET_SUFFIXES = (".parquet", ".pq")
BLOCK = 2**16  # rows, about
ROW_BYTES = 160  # of memory per row
_LABELS = ("action", "observation")
_NEEDED = ("episode", "step", "action", "observation")
Table = dict[str, Any]  # pyarrow arrays of one length, by rpsr's column names


def parquet_blocks(path: Path, columns: Columns) -> Iterator[Block]:
    """The episodes of one file."""
    try:
        yield from _blocks(path, columns)
    except UnicodeDecodeError as error:  # raised wherever a text is first used
        message = f"not UTF-8: a string has the bytes {error.object[:20]!r}"
        raise InputError(message, place=str(path)) from None


def _blocks(path: Path, columns: Columns) -> Iterator[Block]:
    row = number = 0  # rows and episodes before this table
    firsts = (0, 1)  # possible numbers of an episode's first step
    for table, starts in _whole_episodes(path, columns):
        read = table["step"][0].as_py()
        firsts = (read,) if read in firsts else firsts
        rows = len(table["step"])
        steps = np.arange(rows) - np.repeat(starts, np.diff(starts, append=rows))
        ended, neither = flags_of(table.get("terminated"), rows)
        wrong = differs(table["step"], steps + firsts[0]) | neither
        wrong[starts] |= is_null(table["episode"])[starts]
        wrong[1:] |= ended[:-1] & (steps[1:] > 0)
        bad = int(np.argmax(wrong)) if wrong.any() else None
        whole = len(starts) if bad is None else int(np.searchsorted(starts, bad, "right")) - 1
        if whole:  # also before an error: report errors of earlier episodes first
            yield _block(path, table, np.append(starts, rows)[: whole + 1], ended, row, number)
        if bad is not None:
            step = int(steps[bad])
            message, of_step = _what_is_wrong(table, bad, step, firsts, row)
            line, at = row + bad - step + 1, step if of_step else None
            raise episode_error(message, str(path), line, number + whole, at)
        row += rows
        number += whole


def _what_is_wrong(
    table: Table, bad: int, step: int, firsts: tuple[int, ...], row: int
) -> tuple[str, bool]:
    """The error message for a row, and whether the message should name the step."""
    read, expected = table["step"][bad].as_py(), firsts[0] + step
    if step == 0 and not table["episode"][bad].is_valid:
        return "episode: read nothing, expected a name or number", False
    if step == 0 and read not in firsts:
        expected = " or ".join(map(str, firsts))
        return f"step: read {read!r}, expected {expected} in its first row", False
    if read != expected:
        return f"row {row + bad + 1}: step: read {read!r}, expected {expected}", False
    if step > 0 and table["terminated"][bad - 1].as_py():
        return "terminated: read true, expected it in the last row only", True
    return f"terminated: read {table['terminated'][bad].as_py()!r}, expected true or false", True


def _whole_episodes(path: Path, columns: Columns) -> Iterator[tuple[Table, Ints]]:
    """Tables of about `BLOCK` rows each, and the first rows of their episodes."""
    waiting: list[Table] = []
    size, enough = 0, BLOCK

    def joined() -> tuple[Table, Ints]:
        import pyarrow as pa

        parts = {name: [part[name] for part in waiting] for name in waiting[0]}
        table = {name: pa.concat_arrays(arrays) for name, arrays in parts.items()}
        return table, np.append(0, changes(table["episode"]))

    for batch in _batches(path, columns):
        waiting.append(batch)
        size += len(batch["step"])
        if size < enough:
            continue
        table, starts = joined()
        last = int(starts[-1])  # this episode may continue in the next batch
        if last:
            yield {name: column[:last] for name, column in table.items()}, starts[:-1]
        waiting = [{name: column[last:] for name, column in table.items()}]
        size -= last
        enough = max(BLOCK, 2 * size)  # so that a long episode is not joined repeatedly
        if (problem := excess(ROW_BYTES * size, path.stat().st_size)) is not None:
            raise InputError(f"an episode of {size:,} rows or more: {problem}", place=str(path))
    if size:
        yield joined()


def _batches(path: Path, columns: Columns) -> Iterator[Table]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise InputError(
            "reading Parquet needs pyarrow: pip install 'rpsr[data]'", place=str(path)
        ) from None
    try:
        labels = (columns.action, columns.observation)  # few names: keep the file's dictionary
        fields = pq.read_schema(path)
        packed = [f.name for f in fields if f.name in labels and pa.types.is_string(f.type)]
        with pq.ParquetFile(path, read_dictionary=packed) as file:
            names: dict[str, str] = vars(columns)
            present = set(fields.names)
            for theirs in names.values():
                if fields.names.count(theirs) > 1:
                    message = f"has {fields.names.count(theirs)} columns {theirs!r}, expected one"
                    raise InputError(message, place=str(path))
            usual: dict[str, str] = vars(Columns())
            for ours in names:
                needed = ours in _NEEDED or names[ours] != usual[ours]
                if needed and names[ours] not in present:
                    some = ", ".join(sorted(present)) or "none"
                    raise InputError(
                        f"has no column {names[ours]!r} for the {ours}; its columns are {some}",
                        place=str(path),
                    )
            used = {ours: theirs for ours, theirs in names.items() if theirs in present}
            for batch in file.iter_batches(BLOCK, columns=list(used.values())):
                table = {ours: batch.column(theirs) for ours, theirs in used.items()}
                yield {o: c if o in _LABELS else decoded(c) for o, c in table.items()}
    except (pa.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"not readable as Parquet: {reason}", place=str(path)) from None


def _block(path: Path, table: Table, offsets: Ints, ended: Bools, row: int, number: int) -> Block:
    """The episodes between these rows; `row` rows and `number` episodes came before the table."""
    table = {name: column[: int(offsets[-1])] for name, column in table.items()}
    return Block(
        place=str(path),
        number=number,
        lines=row + offsets[:-1] + 1,
        offsets=offsets,
        actions=labels_of(table["action"]),
        observations=labels_of(table["observation"]),
        rewards=numbers_in(table.get("reward"), "rewards"),
        propensities=numbers_in(table.get("propensity"), "propensities"),
        states=None,
        terminated=ended[offsets[1:] - 1],
    )
