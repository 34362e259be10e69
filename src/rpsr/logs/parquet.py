"""Episodes from Parquet, one row a step, read in batches; needs pyarrow (the extra `data`).

Rows of an episode stand together and in order: `step` counts up by one, from 0 in every episode of
a file or from 1 in every one, so that an episode torn in two is seen.
`terminated` may only be true in the last row of an episode.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rpsr.errors import InputError
from rpsr.logs.episodes import Columns, Episode

PARQUET_SUFFIXES = (".parquet", ".pq")
BATCH = 2**16  # rows in memory at a time
_NEEDED = ("episode", "step", "action", "observation")


def parquet_episodes(path: Path, columns: Columns) -> Iterator[Episode]:
    """The episodes of one file."""
    current: Episode | None = None
    name: Any = None
    firsts = (0, 1)
    previous = 0
    number = 0
    for line, row in _rows(path, columns):
        if current is None or row["episode"] != name:
            if current is not None:
                yield current
                number += 1
            current = _begin(path, line, number, row)
            if row["episode"] is None:
                raise current.error("read nothing, expected a name or number of the episode")
            if row["step"] not in firsts:
                expected = " or ".join(map(str, firsts))
                raise current.error(
                    f"step: read {row['step']!r}, expected {expected} in its first row"
                )
            name, previous, firsts = row["episode"], row["step"] - 1, (row["step"],)
        if row["step"] != previous + 1:
            raise current.error(f"row {line}: step: read {row['step']!r}, expected {previous + 1}")
        if current.terminated:
            raise current.error("terminated: read true before the last row", len(current.actions))
        previous = row["step"]
        _append(current, row, line)
    if current is not None:
        yield current


def _rows(path: Path, columns: Columns) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each row, by our names of its columns, with its number from 1."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise InputError(
            "reading Parquet needs pyarrow: pip install 'rpsr[data]'", place=str(path)
        ) from None
    try:
        with pq.ParquetFile(path) as file:
            names: dict[str, str] = vars(columns)
            present = set(file.schema_arrow.names)
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
            line = 0
            for batch in file.iter_batches(BATCH, columns=list(used.values())):
                table = batch.to_pydict()
                values = [table[theirs] for theirs in used.values()]
                for row in zip(*values, strict=True):
                    line += 1
                    yield line, dict(zip(used, row, strict=True))
    except (pa.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"not readable as Parquet: {reason}", place=str(path)) from None


def _begin(path: Path, line: int, number: int, row: dict[str, Any]) -> Episode:
    rewards: list[Any] | None = [] if "reward" in row else None
    propensities: list[Any] | None = [] if "propensity" in row else None
    return Episode(str(path), line, number, [], [], rewards, propensities, False)


def _append(episode: Episode, row: dict[str, Any], line: int) -> None:
    episode.actions.append(row["action"])
    episode.observations.append(row["observation"])
    if episode.rewards is not None:
        episode.rewards.append(row["reward"])
    if episode.propensities is not None:
        episode.propensities.append(row["propensity"])
    terminated = row.get("terminated", False)
    if not isinstance(terminated, bool):
        step = len(episode.actions) - 1
        raise episode.error(f"terminated: read {terminated!r}, expected true or false", step)
    episode.terminated = terminated
