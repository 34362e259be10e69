"""What a record must be, given what the naive reader read: exact, and correctly rounded."""

from collections.abc import Mapping
from fractions import Fraction

from tests.naive_reader import NaivePOMDP

from rpsr.io.records import Record, Rows


def assert_reads_like(record: Record, naive: NaivePOMDP) -> None:
    """Same names, discount, start, T, O, OO and, on possible outcomes, rewards."""
    assert list(record.states) == naive.states
    assert list(record.actions) == naive.actions
    assert list(record.observations) == naive.observations
    assert record.discount == naive.discount
    assert_row(record.start, 0, dict(enumerate(naive.start)))
    n = len(naive.states)
    for row in range(len(naive.actions) * n):
        assert_row(record.transition, row, naive.T[divmod(row, n)])
    assert record.emission_by_edge == bool(naive.OO)
    if not naive.OO:
        for row in range(len(naive.actions) * n):
            assert_row(record.emission, row, naive.O[divmod(row, n)])
    else:
        sources = record.transition.row_of_entry().tolist()
        targets = record.transition.indices.tolist()
        for edge, (row, target) in enumerate(zip(sources, targets, strict=True)):
            assert_row(record.emission, edge, naive.observation_row(*divmod(row, n), target))
    assert_rewards(record, naive)


def assert_row(rows: Rows, row: int, raw: Mapping[int, Fraction]) -> None:
    """A row divided exactly by its sum, and its floats those quotients, correctly rounded."""
    raw = {column: p for column, p in sorted(raw.items()) if p}
    total = sum(raw.values())
    exact = raw if total == 1 else {column: p / total for column, p in raw.items()}
    assert rows.fractions(row) == exact
    span = slice(int(rows.indptr[row]), int(rows.indptr[row + 1]))
    assert rows.indices[span].tolist() == list(raw)
    assert rows.values[span].tolist() == [float(p) for p in exact.values()]


def assert_rewards(record: Record, naive: NaivePOMDP) -> None:
    """R(s, a, s', o) of every possible outcome, exactly and as the nearest float."""
    n, exact = len(naive.states), record.rewards.exact
    assert exact is not None
    assert record.rewards.values.tolist() == [float(value) for value in exact]
    edge, entry = record.outcome_entries()
    outcomes = zip(
        record.transition.row_of_entry()[edge].tolist(),
        record.transition.indices[edge].tolist(),
        record.emission.indices[entry].tolist(),
        record.rewards.index.tolist(),
        strict=True,
    )
    for row, target, seen, index in outcomes:
        assert exact[index] == naive.reward(*divmod(row, n), target, seen)
