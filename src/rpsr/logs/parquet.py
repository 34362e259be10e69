"""Read episodes from Parquet, one row per step, in batches; needs pyarrow (the extra `data`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rpsr.errors import InputError
from rpsr.logs import tables
from rpsr.logs.arrow import arrow_roles, arrow_rows
from rpsr.logs.blocks import Block
from rpsr.logs.columns import Columns

PARQUET_SUFFIXES = (".parquet", ".pq")


def parquet_blocks(path: Path, columns: Columns) -> Iterator[Block]:
    """The episodes of one file."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise InputError(
            "reading Parquet needs pyarrow: pip install 'rpsr[data]'", place=str(path)
        ) from None
    try:
        schema = pq.read_schema(path)
        roles = arrow_roles(schema, columns, str(path))
        labels = (roles.used["action"], roles.used["observation"])  # keep the file's dictionary
        packed = [f.name for f in schema if f.name in labels and pa.types.is_string(f.type)]
        with pq.ParquetFile(path, read_dictionary=packed) as file:
            table = tables.Table(str(path), path.stat().st_size, roles)
            yield from table.blocks(arrow_rows(_batches(file, roles.used), roles, 1))
    except (pa.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"not readable as Parquet: {reason}", place=str(path)) from None
    except UnicodeDecodeError as error:  # raised wherever a text is first used
        message = f"not UTF-8: a string has the bytes {error.object[:20]!r}"
        raise InputError(message, place=str(path)) from None


def _batches(file: Any, used: dict[str, str]) -> Iterator[Any]:
    return file.iter_batches(tables.BLOCK, columns=list(dict.fromkeys(used.values())))
