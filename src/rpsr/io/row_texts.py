"""Rows of probabilities as decimals, and what a file cannot hold, for writers of model files."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from rpsr.errors import InputError
from rpsr.io.decimals import finite_digits, float_probabilities, probabilities, reads_as
from rpsr.io.records import Record, Rows


def row_texts(rows: Rows, row: int) -> list[str]:
    """The entries of a row as decimals."""
    span = slice(int(rows.indptr[row]), int(rows.indptr[row + 1]))
    values = rows.values[span].tolist()
    if rows.weights is None:
        return float_probabilities(values)
    weights = [int(w) for w in rows.weights[span].tolist()]
    return probabilities(weights, values, printed_digits(rows, row))


def lost_decimals(record: Record) -> Iterator[str]:
    """Notes on the numbers of a model that decimals do not hold exactly."""
    rewards = record.rewards.exact or ()
    lost = sum(finite_digits(value.denominator) is None for value in rewards)
    if lost:
        yield f"rewards without a finite decimal were written as the nearest float: {lost}"
    if record.discount is not None and finite_digits(record.discount.denominator) is None:
        yield f"the discount {record.discount} was written as its nearest float"
    off = sum(moved(rows) for rows in (record.start, record.transition, record.emission))
    if off:
        yield f"rows of probabilities that read back as slightly different floats: {off}"


def lost_descriptions(record: Record) -> Iterator[str]:
    """Notes on descriptions of states that a format without them does not hold."""
    if record.labels:
        yield f"labels of states are not stored: {', '.join(name for name, _ in record.labels)}"
    if record.unavailable is not None:
        yield (
            "the availability of actions is not stored: an unavailable action does what the "
            "state's first available action does"
        )


def moved(rows: Rows) -> int:
    """The number of rows whose floats are no decimals divided by their sum."""
    if rows.weights is not None:
        return 0
    spans = [slice(int(i), int(j)) for i, j in pairwise(rows.indptr)]
    return sum(
        not reads_as(row_texts(rows, row), rows.values[span].tolist())
        for row, span in enumerate(spans)
    )


def printed_digits(rows: Rows, row: int) -> int:
    """The number of decimals of a row's probabilities as printed; -1 where it is not known."""
    return -1 if rows.digits is None else int(rows.digits[row])


def is_uniform(rows: Rows, row: int) -> bool:
    """Whether the row equals `uniform` and was not printed as rounded decimals."""
    if rows.indptr[row + 1] - rows.indptr[row] != rows.width or not is_even(rows, row):
        return False
    digits = printed_digits(rows, row)
    if rows.weights is None or digits < 0:
        return True
    return int(rows.weights[rows.indptr[row]]) * rows.width == 10**digits


def is_even(rows: Rows, row: int) -> bool:
    """Whether a row's entries are all equal, exactly so if the row is exact."""
    span = slice(int(rows.indptr[row]), int(rows.indptr[row + 1]))
    values = rows.values[span]
    weights = values if rows.weights is None else rows.weights[span]
    return bool((weights == weights[0]).all() and (values == 1 / len(values)).all())


def unwritable(kind: str, name: str) -> InputError:
    """The refusal of a name that a format cannot store; kind: states, actions or observations."""
    remedy = "--plain-names, in Python plain_names=True, writes s0, a0, o0"
    return InputError(f"{kind}: the name {name!r} cannot be written in this format; {remedy}")
