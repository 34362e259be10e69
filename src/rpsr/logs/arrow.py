"""Convert columns of a Parquet file, which are pyarrow arrays, to numpy arrays, (L,)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpsr.io.records import Bools, Ints
from rpsr.logs.blocks import Labels, Numbers, numbers_of


def decoded(column: Any) -> Any:
    """A column, decoded if it is dictionary-encoded."""
    return column.dictionary_decode() if hasattr(column, "dictionary_decode") else column


def labels_of(column: Any) -> Labels:
    """A column of any type as labels; a missing value counts as a label."""
    import pyarrow as pa

    if isinstance(column, pa.DictionaryArray):  # in any order, possibly with unused values
        used = column.indices.dictionary_encode("encode")
        return Labels(column.dictionary.take(used.dictionary).to_pylist(), used.indices.to_numpy())
    try:
        coded = column.dictionary_encode("encode")
    except pa.ArrowNotImplementedError:  # lists and the like
        return Labels.of(column.to_pylist())
    return Labels(coded.dictionary.to_pylist(), coded.indices.to_numpy())


def changes(column: Any) -> Ints:
    """The rows whose value differs from that of the previous row; never the first row."""
    found = _numeric(column)
    found = labels_of(column).codes if found is None else found
    return np.flatnonzero(found[1:] != found[:-1]) + 1


def numbers_in(column: Any, name: str) -> Numbers | None:
    """A column of rewards or propensities; None if there is none."""
    if column is None:
        return None
    found = _numeric(column)
    return numbers_of(name, column.to_pylist()) if found is None else found


def differs(column: Any, expected: Ints) -> Bools:
    """Where a column of any type differs from the expected numbers."""
    found = _numeric(column)
    if found is None:
        pairs = zip(column.to_pylist(), expected.tolist(), strict=True)
        return np.array([read != number for read, number in pairs])
    return found != expected


def is_null(column: Any) -> Bools:
    """Where a column has no value."""
    return column.is_null().to_numpy(zero_copy_only=False)


def flags_of(column: Any, rows: int) -> tuple[Bools, Bools]:
    """Where a column is true, and where it is neither true nor false; None is all false."""
    import pyarrow as pa

    nowhere = np.zeros(rows, dtype=np.bool_)
    if column is None:
        return nowhere, nowhere
    if not pa.types.is_boolean(column.type):
        return nowhere, ~nowhere
    return column.fill_null(False).to_numpy(zero_copy_only=False), is_null(column)


def _numeric(column: Any) -> NDArray[Any] | None:
    """The numbers of a numeric column without missing values; else None."""
    import pyarrow as pa

    numeric = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    return column.to_numpy(zero_copy_only=False) if numeric and not column.null_count else None
