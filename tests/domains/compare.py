"""A built-in domain against a third-party file that tells the same story, entry by entry.

The file is read by `naive_reader`, which shares no code with the library, and its rows are divided
by their sums in exact arithmetic; the domain gives its own fractions. With a tolerance of 0 nothing
may differ at all. A positive tolerance is for files that print rounded numbers, and never excuses
an entry that one side has and the other has not.
"""

from fractions import Fraction
from pathlib import Path

from tests.naive_reader import NaivePOMDP, Row, read

from rpsr.models import POMDP


def assert_same_as_file(pomdp: POMDP, path: Path, tolerance: Fraction | float = 0) -> None:
    """Same sizes, order, names, discount, start, T, O and R(s, a, s', o) on possible outcomes."""
    file = read(path)
    record = pomdp.record
    assert pomdp.exact
    for kind in ("states", "actions", "observations"):
        _assert_same_names(getattr(pomdp, kind), getattr(file, kind), kind)
    assert record.discount == file.discount
    start = dict(enumerate(file.start))
    _assert_same_row(record.start.fractions(0), start, tolerance, "start")

    n = len(file.states)
    for a, action in enumerate(pomdp.actions):
        for s, state in enumerate(pomdp.states):
            row = record.transition.fractions(a * n + s)
            _assert_same_row(row, file.T[a, s], tolerance, f"T: {action} : {state}")
    _assert_same_observations(pomdp, file, tolerance)
    _assert_same_rewards(pomdp, file, tolerance)


def _assert_same_names(ours: tuple[str, ...], theirs: list[str], kind: str) -> None:
    """A file that gives only a count has no names to compare, only their number."""
    assert len(ours) == len(theirs), kind
    if theirs != [str(i) for i in range(len(theirs))]:
        assert list(ours) == theirs, kind


def _assert_same_row(
    ours: dict[int, Fraction], raw: Row, tolerance: Fraction | float, where: str
) -> None:
    total = sum(raw.values())
    theirs = {column: weight / total for column, weight in raw.items() if weight}
    assert ours.keys() == theirs.keys(), where
    for column, p in theirs.items():
        assert abs(ours[column] - p) <= tolerance, f"{where} : {column}"


def _assert_same_observations(pomdp: POMDP, file: NaivePOMDP, tolerance: Fraction | float) -> None:
    record, n = pomdp.record, len(pomdp.states)
    edges = zip(
        record.transition.row_of_entry().tolist(),
        record.transition.indices.tolist(),
        record.emission_row_of_edge().tolist(),
        strict=True,
    )
    reached: set[tuple[int, int]] = set()
    for row, t, emission_row in edges:
        a, s = divmod(row, n)
        reached.add((a, t))
        where = f"O: {pomdp.actions[a]} : {pomdp.states[s]} : {pomdp.states[t]}"
        ours = record.emission.fractions(emission_row)
        _assert_same_row(ours, file.observation_row(a, s, t), tolerance, where)
    if record.emission_by_edge:
        return
    # What would be seen where no transition leads is part of a file too, where it says so.
    for (a, t), raw in file.O.items():
        if (a, t) not in reached and raw:
            where = f"O: {pomdp.actions[a]} : {pomdp.states[t]}"
            _assert_same_row(record.emission.fractions(a * n + t), raw, tolerance, where)


def _assert_same_rewards(pomdp: POMDP, file: NaivePOMDP, tolerance: Fraction | float) -> None:
    outcomes, table = pomdp.outcomes, pomdp.record.rewards.exact
    assert table is not None
    for a, s, t, o, value in zip(
        outcomes.action.tolist(),
        outcomes.state.tolist(),
        outcomes.next_state.tolist(),
        outcomes.observation.tolist(),
        outcomes.reward_index.tolist(),
        strict=True,
    ):
        difference = abs(table[value] - file.reward(a, s, t, o))
        assert difference <= tolerance, f"R: {a} : {s} : {t} : {o}"
