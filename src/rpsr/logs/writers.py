"""Write episodes to JSON lines, CSV or Parquet, piece by piece, completely or not at all.

JSON lines hold one episode per line. CSV and Parquet hold one row per step; Parquet needs pyarrow
(the extra `data`). Episodes come as one `Trajectories` or as several in turn, so that a simulation
larger than memory can be written while it runs. States are written as indices.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, BinaryIO, cast

from rpsr.errors import InputError
from rpsr.io.files import write_bytes, write_whole
from rpsr.logs.json_lines import JSON_SUFFIXES
from rpsr.logs.tables.csv_files import CSV_SUFFIXES
from rpsr.logs.tables.csv_writer import write_csv
from rpsr.logs.tables.parquet import PARQUET_SUFFIXES
from rpsr.logs.tables.steps import recorded, step_columns
from rpsr.logs.trajectories import Trajectories

ROW_GROUP = 2**17  # steps, at least


def check_target(path: str | Path) -> None:
    """Refuse a name whose suffix is no log format, or a format that needs a missing package."""
    name = str(path).lower()
    if name.endswith(PARQUET_SUFFIXES):
        _pyarrow(path)
    elif name != "-" and not name.endswith((*JSON_SUFFIXES, *CSV_SUFFIXES)):
        expected = ", ".join((*JSON_SUFFIXES, *CSV_SUFFIXES, *PARQUET_SUFFIXES))
        raise InputError(f"expected a name ending in {expected}", place=str(path))


def write_logs(logs: Trajectories | Iterable[Trajectories], path: str | Path) -> None:
    """Write episodes in the format of the file's suffix; `-` is JSON on standard output.

    `.jsonl`, `.ndjson`, `.csv` or `.tsv`, compressed if `.gz` follows, or `.parquet`. Several logs
    are written in turn; all must have the same columns.
    """
    check_target(path)
    parts = _alike([logs] if isinstance(logs, Trajectories) else logs, path)
    name = str(path).lower()
    if name == "-":
        for log in parts:  # on a terminal, control characters of names are shown
            write_bytes(path, "".join(_lines(log)).encode())
    elif name.endswith(PARQUET_SUFFIXES):
        write_whole(path, _parquet_writer(parts, path))
    else:
        write = _write_json
        if name.endswith(CSV_SUFFIXES):
            separator = "\t" if name.endswith((".tsv", ".tsv.gz")) else ","
            write = partial(write_csv, separator=separator)
        packed = partial(_write_gzip, write) if name.endswith(".gz") else write
        write_whole(path, partial(packed, parts))


def _alike(logs: Iterable[Trajectories], path: str | Path) -> Iterator[Trajectories]:
    """The logs; an error if their names or columns differ."""
    known: tuple[Any, ...] | None = None
    for log in logs:
        kind = (log.action_names, log.observation_names, *recorded(log))
        if known is not None and kind != known:
            raise InputError(
                "the logs differ in action names, observation names or columns, expected the same",
                place=str(path),
            )
        known = kind
        yield log


# ---- JSON lines


def _write_json(logs: Iterable[Trajectories], stream: BinaryIO) -> None:
    for log in logs:
        stream.write("".join(_lines(log)).encode())


def _write_gzip(
    write: Callable[[Iterable[Trajectories], BinaryIO], None],
    logs: Iterable[Trajectories],
    stream: BinaryIO,
) -> None:
    # No name and no time in the header: equal episodes give equal bytes.
    with gzip.GzipFile(filename="", mode="wb", fileobj=stream, compresslevel=6, mtime=0) as packed:
        write(logs, cast(BinaryIO, packed))


def _lines(log: Trajectories) -> Iterator[str]:
    columns: dict[str, tuple[list[Any], Callable[[Any], str]]] = {
        "actions": (log.actions.tolist(), _quoted(log.action_names)),
        "observations": (log.observations.tolist(), _quoted(log.observation_names)),
    }
    for name in recorded(log):
        columns[name] = (getattr(log, name).tolist(), repr)
    both = log.terminated & log.truncated  # otherwise, one is the opposite of the other
    ends = zip(pairwise(log.offsets.tolist()), log.terminated.tolist(), both.tolist(), strict=True)
    for (first, last), terminated, cut in ends:
        parts = [
            f'"{name}": [{", ".join(map(text, values[first:last]))}]'
            for name, (values, text) in columns.items()
        ]
        flags = f'"terminated": {json.dumps(terminated)}' + cut * ', "truncated": true'
        yield f"{{{', '.join(parts)}, {flags}}}\n"


def _quoted(names: tuple[str, ...]) -> Callable[[int], str]:
    return [json.dumps(name, ensure_ascii=False) for name in names].__getitem__


# ---- Parquet


def _pyarrow(path: str | Path) -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InputError(
            "writing Parquet needs pyarrow: pip install 'rpsr[data]'", place=str(path)
        ) from None
    return pyarrow, pyarrow.parquet


def _parquet_writer(logs: Iterable[Trajectories], path: str | Path) -> Callable[[BinaryIO], object]:
    arrow, parquet = _pyarrow(path)

    def write(stream: BinaryIO) -> None:
        groups = _groups(arrow, logs)
        first = next(groups, None)
        if first is None:
            raise InputError("read no episodes, expected at least one", place=str(path))
        with parquet.ParquetWriter(stream, first.schema) as writer:
            for group in chain([first], groups):
                writer.write_table(group)

    return write


def _groups(arrow: Any, logs: Iterable[Trajectories]) -> Iterator[Any]:
    """Tables of whole logs, each of at least `ROW_GROUP` rows, except the last."""
    waiting: list[Any] = []
    episodes = 0
    for log in logs:
        waiting.append(_table(arrow, log, episodes))
        episodes += log.episodes
        if sum(table.num_rows for table in waiting) >= ROW_GROUP:
            yield arrow.concat_tables(waiting)
            waiting = []
    if waiting:
        yield arrow.concat_tables(waiting)


def _table(arrow: Any, log: Trajectories, episodes: int) -> Any:
    columns: dict[str, Any] = dict(step_columns(log, episodes))
    for role, names in (("action", log.action_names), ("observation", log.observation_names)):
        columns[role] = _named(arrow, columns[role], names)
    return arrow.table(columns)


def _named(arrow: Any, indices: Any, names: tuple[str, ...]) -> Any:
    kept = arrow.DictionaryArray.from_arrays(arrow.array(indices), arrow.array(list(names)))
    return kept.cast(arrow.string())
