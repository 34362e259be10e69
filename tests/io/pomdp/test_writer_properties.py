"""Random models survive being written and read: names, floats to the bit, fractions exactly."""

import numpy as np
from hypothesis import given
from tests.strategies import DECIMAL_REWARDS, ODD_NAMES, records

from rpsr.io.pomdp.reader import parse_pomdp
from rpsr.io.pomdp.writer import format_pomdp
from rpsr.io.records import Record, Rows
from rpsr.io.tokens import is_name


def read_back(record: Record) -> Record:
    return parse_pomdp(format_pomdp(record).encode(), place="written", name=record.name)


def assert_same_rows(again: Rows, rows: Rows) -> None:
    assert again.width == rows.width
    assert np.array_equal(again.indptr, rows.indptr)
    assert np.array_equal(again.indices, rows.indices)
    assert again.values.tobytes() == rows.values.tobytes()
    if rows.weights is not None:
        for row in range(rows.height):
            assert again.fractions(row) == rows.fractions(row)


def assert_survives(record: Record) -> None:
    again = read_back(record)
    assert (again.states, again.actions) == (record.states, record.actions)
    assert (again.observations, again.discount) == (record.observations, record.discount)
    assert again.emission_by_edge == record.emission_by_edge
    assert np.array_equal(again.resets, record.resets)
    for rows in ("start", "transition", "emission"):
        assert_same_rows(getattr(again, rows), getattr(record, rows))
    ours, theirs = again.rewards, record.rewards
    assert ours.values[ours.index].tobytes() == theirs.values[theirs.index].tobytes()


@given(records())
def test_a_model_survives(record):
    assert_survives(record)


@given(records(exact=True, rewards=DECIMAL_REWARDS))
def test_an_exact_model_keeps_its_fingerprint(record):
    assert read_back(record).digest() == record.digest()


@given(records(exact=True, rewards=DECIMAL_REWARDS))
def test_written_twice_is_written_alike(record):
    text = format_pomdp(record)
    assert format_pomdp(read_back(record)) == text


def test_odd_names_are_names():
    assert all(is_name(name.encode()) for name in ODD_NAMES)
