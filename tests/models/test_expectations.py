"""Expected rewards: correctly rounded where a model is exact, within their error elsewhere."""

from dataclasses import replace
from fractions import Fraction
from itertools import chain

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.models.builders import CANCELLING
from tests.strategies import exact_rows, records

from rpsr import POMDP
from rpsr.io.pomdp.reader import parse_pomdp
from rpsr.io.records import Record, Rewards, Rows

HUGE = st.one_of(
    st.integers(-3, 3).map(Fraction),
    st.integers(-(10**18), 10**18).map(Fraction),
    st.fractions(-(10**15), 10**15, max_denominator=10**9),
)


def by_definition(record: Record, rows=Rows.fractions) -> list[list[Fraction]]:
    """sum_s' Pr(s' | s, a) sum_o Pr(o | ...) R(s, a, s', o), (S, A), one outcome at a time."""
    n, exact = len(record.states), record.rewards.exact
    index = iter(record.rewards.index.tolist())
    table = [[Fraction(0)] * len(record.actions) for _ in record.states]
    edge = 0
    for row in range(record.transition.height):
        a, s = divmod(row, n)
        for t, chance in rows(record.transition, row).items():
            seen = edge if record.emission_by_edge else a * n + t
            for emitted in rows(record.emission, seen).values():
                value = next(index)
                reward = Fraction(record.rewards.values[value]) if exact is None else exact[value]
                table[s][a] += chance * emitted * reward
            edge += 1
    return table


def divided(rows: Rows, row: int) -> dict[int, Fraction]:
    """A row of floats as the model means it: exactly, divided by its sum."""
    span = slice(int(rows.indptr[row]), int(rows.indptr[row + 1]))
    values = [Fraction(v) for v in rows.values[span].tolist()]
    columns = rows.indices[span].tolist()
    return {c: v / sum(values) for c, v in zip(columns, values, strict=True)}


@given(records(exact=True, rewards=HUGE))
def test_expected_rewards_are_correctly_rounded(record):
    pomdp, table = POMDP(record), by_definition(record)
    assert pomdp.exact_rewards() == tuple(tuple(row) for row in table)
    assert pomdp.R.tolist() == [[float(value) for value in row] for row in table]
    assert pomdp.reward_error == 0


@given(records(exact=False, rewards=HUGE))
def test_the_error_of_expected_rewards_in_floats_is_bounded(record):
    record = replace(record, rewards=replace(record.rewards, exact=None))
    pomdp, table = POMDP(record), by_definition(record, divided)
    for value, expected in zip(pomdp.R.ravel().tolist(), chain(*table), strict=True):
        rounding = abs(expected) / 2**53
        assert abs(Fraction(value) - expected) <= Fraction(pomdp.reward_error) + rounding


def test_totals_that_differ_are_added_up_as_fractions():
    moves = exact_rows([((0, 1, 2), (1, 1, 1), -1)] * 3, 3)
    seen = exact_rows([((0, 1), (1, w), -1) for w in (1, 2, 4)], 2)
    paid = tuple(Fraction(v) for v in (-(10**17), 1, 10**17))
    rewards = Rewards(np.array([float(v) for v in paid]), np.array([0, 2, 1, 2, 0, 1] * 3), paid)
    record = Record(
        name="odd",
        states=("x", "y", "z"),
        actions=("a",),
        observations=("o", "p"),
        discount=None,
        start=exact_rows([((0,), (1,), -1)], 3),
        transition=moves,
        emission=seen,
        emission_by_edge=False,
        rewards=rewards,
        resets=np.zeros((1, 3), dtype=np.bool_),
    )
    table = by_definition(record)
    assert POMDP(record).R.tolist() == [[float(v) for v in row] for row in table]


def test_large_weights_where_rewards_do_not_vary_are_no_hindrance():
    moves = exact_rows([((0,), (1,), -1), ((0, 1), (1, 1), -1), ((2,), (1,), -1)], 3)
    seen = exact_rows([((0,), (weight,), -1) for weight in (1, 1, 2**63)], 1)
    paid = (Fraction(0), Fraction(1))
    record = Record(
        name="large",
        states=("x", "y", "z"),
        actions=("a",),
        observations=("o",),
        discount=None,
        start=exact_rows([((0,), (1,), -1)], 3),
        transition=moves,
        emission=seen,
        emission_by_edge=False,
        rewards=Rewards(np.array([0.0, 1.0]), np.array([0, 0, 1, 0]), paid),
        resets=np.zeros((1, 3), dtype=np.bool_),
    )
    assert POMDP(record).R.tolist() == [[0.0], [0.5], [0.0]]


def test_rewards_that_cancel_keep_their_digits():
    for up, down in (("7000001", "-3000000"), ("7000000000000001", "-3e15")):
        text = CANCELLING.format(up, down)
        record = parse_pomdp(text.encode(), place="text", name="cancelling")
        assert POMDP(record).R.tolist() == [[0.3]]
