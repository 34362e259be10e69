"""Rows of probabilities taken apart and put together, for transformations of a model."""

from __future__ import annotations

import numpy as np

from rpsr.io.records import Floats, Integers, Ints, Record, Rows

Row = tuple[Ints, Floats, Integers | None, int]  # indices, values, weights, digits


def split_rows(rows: Rows) -> list[Row]:
    """The rows, one by one."""
    spans = [slice(int(i), int(j)) for i, j in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)]
    return [
        (
            rows.indices[span],
            rows.values[span],
            None if rows.weights is None else rows.weights[span],
            -1 if rows.digits is None else int(rows.digits[r]),
        )
        for r, span in enumerate(spans)
    ]


def certain_row(column: int, record: Record) -> Row:
    """A row with one possible column; exact if the record is."""
    weights = np.ones(1, dtype=np.int64) if record.exact else None
    return np.array([column], dtype=np.int64), np.ones(1), weights, -1


def join_rows(rows: list[Row], width: int) -> Rows:
    """Rows of this width from their parts; exact if all parts are."""
    counts = [len(row[0]) for row in rows]
    weights = [row[2] for row in rows if row[2] is not None]
    exact = len(weights) == len(rows)
    return Rows(
        width,
        np.append(0, np.cumsum(counts)).astype(np.int64),
        np.concatenate([row[0] for row in rows]),
        np.concatenate([row[1] for row in rows]),
        np.concatenate(weights) if exact else None,
        np.array([row[3] for row in rows], dtype=np.int64) if exact else None,
    )
