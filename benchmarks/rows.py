"""Rows of a benchmark: computed on any executor, in parts, and kept in a file.

A benchmark that runs on a Dask scheduler (--scheduler, --scheduler-file) needs workers that can
import it: start them with this folder in PYTHONPATH.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from rpsr.parallel import spread, workers
from rpsr.row_file import RowFile
from rpsr.shards import Key, Manifest, Row, Shard


def add_options(parser: argparse.ArgumentParser, out: str | None) -> None:
    """The options of `computed`. out: the file of rows, by default."""
    parser.add_argument("--jobs", type=int, help="processes; by default 1")
    parser.add_argument("--scheduler", help="address of a Dask scheduler, instead of jobs")
    parser.add_argument("--scheduler-file", help="file with the address of a Dask scheduler")
    parser.add_argument("--shard", type=Shard.parsed, help="part I of N of the rows, I/N")
    parser.add_argument("--out", default=out, help="file of rows, which continues where it stopped")


def computed(
    trial: Callable[..., Row],
    items: Sequence[Key],
    key: Sequence[str],
    timings: Sequence[str],
    arguments: argparse.Namespace,
    **options: Any,
) -> Iterator[tuple[str, Row]]:
    """The rows `trial(item, **options)` that the file does not have yet, each with its number.

    key: the names of the parts of an item, which are fields of its row. timings: the fields that
    may differ between runs. A row has an error if the processes of its item were killed.
    """
    shard = arguments.shard or Shard(1, 1)
    rows = RowFile(
        arguments.out, key, Manifest(str(shard), tuple(key), tuple(timings), tuple(items))
    )
    known = rows.rows()
    wanted = [item for item in shard.select(items) if item not in known]
    where = {"scheduler": arguments.scheduler, "scheduler_file": arguments.scheduler_file}
    work = partial(_importable(trial), **options)
    with workers(arguments.jobs, **where) as executor:
        for number, (item, row) in enumerate(spread(work, wanted, executor), 1):
            if row is None:
                row = dict(zip(key, item, strict=True)) | {"error": "its processes were killed"}
            rows.append(row)
            yield f"{number}/{len(wanted)} {' '.join(map(str, item))}", row


def _importable(trial: Callable[..., Row]) -> Callable[..., Row]:
    """The same function, by the name of its module, even if that is the script that runs."""
    if trial.__module__ != "__main__":
        return trial
    return getattr(import_module(Path(sys.argv[0]).stem), trial.__name__)
