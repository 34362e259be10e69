"""Read episodes from Parquet, one row per step, in batches; needs pyarrow (the extra `data`)."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rpsr.errors import InputError
from rpsr.io.allowance import excess
from rpsr.logs.blocks import Block
from rpsr.logs.columns import Columns, Roles
from rpsr.logs.tables import row_blocks
from rpsr.logs.tables.arrow import arrow_roles, arrow_rows, is_text
from rpsr.printable import quoted

PARQUET_SUFFIXES = (".parquet", ".pq")


@dataclass(frozen=True)
class RowGroups:
    """The episodes of a file that begin in the row groups from `first` to before `last`.

    rows: the first of these rows, from 1, and the first row after them.
    """

    path: Path
    first: int
    last: int
    rows: tuple[int, int]

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.path.name

    def is_dir(self) -> bool:
        """Whether it is a folder, which it never is."""
        return False


def row_groups(path: Path, steps: int) -> list[RowGroups]:
    """A file in parts of at least `steps` rows, except the last, that end with row groups."""
    _, pq = _arrow(path)
    with _readable(path):
        about = pq.read_metadata(path)
        sizes = [about.row_group(i).num_rows for i in range(about.num_row_groups)]
    parts: list[RowGroups] = []
    first, row = 0, 1
    for last in range(1, len(sizes) + 1):
        rows = sum(sizes[first:last])
        if rows >= steps or last == len(sizes):
            parts.append(RowGroups(path, first, last, (row, row + rows)))
            first, row = last, row + rows
    return parts


def row_count(path: Path) -> int:
    """The number of rows, from the end of the file, which is quick."""
    _, pq = _arrow(path)
    with _readable(path):
        return pq.read_metadata(path).num_rows


def parquet_blocks(
    path: Path, columns: Columns, groups: RowGroups | None = None
) -> Iterator[Block]:
    """The episodes of one file, or of some of its row groups."""
    _, pq = _arrow(path)
    with _readable(path):
        schema = pq.read_schema(path)
        roles = arrow_roles(schema, columns, str(path))
        used = set(roles.used.values())
        packed = [field.name for field in schema if field.name in used and is_text(field.type)]
        with pq.ParquetFile(path, read_dictionary=packed) as file:
            table = row_blocks.Table(str(path), path.stat().st_size, roles)
            _check_sizes(file.metadata, used, path)
            if groups is None:
                rows = arrow_rows(_batches(file, roles.used), roles, 1)
            else:
                rows = _own_rows(file, roles, groups)
            yield from table.blocks(rows)


def _check_sizes(about: Any, used: set[str], path: Path) -> None:
    """Refuse a file with a column that unpacks to far more than the size of the file suggests."""
    chosen = [i for i in range(about.num_columns) if about.schema.column(i).path in used]
    for group in map(about.row_group, range(about.num_row_groups)):
        for column in map(group.column, chosen):
            needed = column.total_uncompressed_size
            if (problem := excess(needed, path.stat().st_size)) is not None:
                cause = f"column {quoted(column.path_in_schema)} unpacks to {needed:,} bytes"
                raise InputError(f"{cause}: {problem}", place=str(path))


def _own_rows(file: Any, roles: Roles, groups: RowGroups) -> Iterator[row_blocks.Rows]:
    """The rows of the episodes that begin in some row groups; the last may end in a later one."""
    first, last = groups.rows
    before: row_blocks.Rows | None = None
    if groups.first > 0:  # the row before tells whether the first one begins an episode
        used = list(dict.fromkeys(roles.used.values()))
        table = file.read_row_group(groups.first - 1, columns=used)
        batch = table.slice(table.num_rows - 1).combine_chunks().to_batches()[-1]
        (before,) = arrow_rows([batch], roles, first - 1)
    rest = range(groups.first, file.metadata.num_row_groups)
    begun = before is None
    for batch in arrow_rows(_batches(file, roles.used, list(rest)), roles, first):
        rows = batch if before is None else row_blocks.Rows.joined([before, batch])
        here = int(before is not None)  # where the batch begins
        starts = rows.starts()
        starts = starts[starts >= here]
        lines = rows.lines[starts]
        begin = here if begun else int(min(starts[lines >= first], default=len(rows)))
        end = int(min(starts[lines >= last], default=len(rows)))
        if begin < end:
            yield rows.part(begin, end)
            begun = True
        if end < len(rows):
            return
        before = rows.part(len(rows) - 1, len(rows))


def _arrow(path: Path) -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise InputError(
            "reading Parquet needs pyarrow: pip install 'rpsr[data]'", place=str(path)
        ) from None
    return pa, pq


@contextmanager
def _readable(path: Path) -> Generator[None]:
    """Errors of the file inside are errors of the input."""
    pa, _ = _arrow(path)
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"not readable as Parquet: {reason}", place=str(path)) from None
    except UnicodeDecodeError as error:  # raised wherever a text is first used
        message = f"not UTF-8: a string has the bytes {error.object[:20]!r}"
        raise InputError(message, place=str(path)) from None


def _batches(file: Any, used: dict[str, str], groups: list[int] | None = None) -> Iterator[Any]:
    columns = list(dict.fromkeys(used.values()))
    return file.iter_batches(row_blocks.BLOCK, row_groups=groups, columns=columns)
