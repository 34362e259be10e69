"""The text that is written: compact, in the original decimals, whole or not at all."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from tests.io.reading import NAMES, REST, read
from tests.strategies import exact_rows, float_rows

from rpsr.errors import InputError
from rpsr.io.pomdp.reader import read_pomdp
from rpsr.io.pomdp.writer import format_pomdp, write_pomdp
from rpsr.io.records import Record, Rewards

MODEL = NAMES + REST


def written(text: str) -> list[str]:
    """The lines that reading a text and writing it gives."""
    record = read(text)
    lines = format_pomdp(record)
    assert read(lines).digest() == record.digest()
    return [line for line in lines.splitlines() if line]


# ---- compact, and in the original decimals


def test_a_whole_file():
    text = (
        "discount: .950\nvalues: reward\nstates: 3\nactions: go stay\nobservations: x y\n"
        "start: .25 0 .75\nT: * identity\nT: go : 0 0 .20 0.8\nT: go : 1 uniform\n"
        "T: stay : 2 reset\nO: * uniform\nO: go : 2 1 0\nR: go:*:*:* -1\nR: go:2:*:* 5.50"
    )
    assert written(text) == [
        "discount: 0.95",
        "values: reward",
        "states: 3",
        "actions: go stay",
        "observations: x y",
        "start: 0.25 0 0.75",
        "T: go : 0 0 0.2 0.8",
        "T: go : 1 uniform",
        "T: go : 2 : 2 1",
        "T: stay : 0 : 0 1",
        "T: stay : 1 : 1 1",
        "T: stay : 2 reset",
        "O: go : 0 uniform",
        "O: go : 1 uniform",
        "O: go : 2 : 0 1",
        "O: stay uniform",
        "R: go : * : * : * -1",
        "R: go : 2 : * : * 5.5",
    ]


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("T: a identity\nT: b identity", "T: * identity"),
        ("T: *\n1 0\n0 1", "T: * identity"),
        ("T: *\n.5 .5\n.50 .5", "T: * uniform"),
        ("T: * : * 0 1", "T: * : * : 1 1"),
        ("T: * : * .25 .75", "T: * : * 0.25 0.75"),
        ("T: * reset", "T: * : * reset"),
        ("T: * uniform\nT: b identity", "T: b identity"),
        ("T: a : s .333333 .666667", "T: a : s 0.333333 0.666667"),
        ("T: a : s .333333 .666666", "T: a : s 0.333333 0.666666"),
    ],
)
def test_transitions_are_written_compactly(statements, expected):
    assert expected in written(MODEL + statements)


def test_rounded_thirds_stay_as_they_were_printed():
    lines = written(
        "states: 3\nactions: 1\nobservations: 1\nO: * uniform\nT: * : * .333333 .333333 .333333"
    )
    assert "T: * : * 0.333333 0.333333 0.333333" in lines


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("", "start: uniform"),
        ("start: t", "start include: 1"),
        ("start: .9999999999999 0", "start: 0.9999999999999 0"),
        ("start: 0.3 .7", "start: 0.3 0.7"),
    ],
)
def test_start_is_written_compactly(statement, expected):
    assert expected in written(MODEL + statement)


@pytest.mark.parametrize("states", ["3", "s t u"])
@pytest.mark.parametrize("statement", ["start: 1", "start: 0 1 0", "start include: 1"])
def test_a_start_in_one_state_is_as_the_classic_solvers_read_it(states, statement):
    """They take `start: 1` for the first entry of a distribution, and refuse it."""
    text = f"states: {states}\nactions: 1\nobservations: 1\n" + REST
    assert "start include: 1" in written(text + statement)


def test_a_start_among_some_states_lists_them():
    text = "states: s t u\nactions: 1\nobservations: 1\n" + REST
    assert "start include: 0 2" in written(text + "start exclude: t")


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("", []),
        ("R: * : * : * : * 3", ["R: * : * : * : * 3"]),
        ("R: a : * : * : * 3", ["R: a : * : * : * 3"]),
        ("R: * : s : * : * 3", ["R: * : s : * : * 3"]),
        ("R: * : * : t : * 3", ["R: * : * : t : * 3"]),
        ("R: * : * : * : y 3", ["R: * : * : * : y 3"]),
        ("R: b : s : t : y 3", ["R: b : s : t : y 3"]),
        ("R: *:*:*:* 1\nR: *:s:*:* 2", ["R: * : * : * : * 1", "R: * : s : * : * 2"]),
    ],
)
def test_rewards_are_written_by_what_they_depend_on(statements, expected):
    lines = written(NAMES + "T: * uniform\nO: * uniform\n" + statements)
    reward_lines = [line for line in lines if line.startswith("R:")]
    assert len(reward_lines) == len(expected)
    if len(expected) == 1:
        assert reward_lines == expected


def test_rewards_of_impossible_outcomes_are_not_written():
    assert not any(line.startswith("R:") for line in written(MODEL + "R: * : s : t : * 9"))


def test_observations_by_edge_are_written_as_rows_that_differ():
    text = NAMES + "T: * uniform\nO: * uniform\nOO: a : s : t 1 0\n"
    lines = [line for line in written(text) if line.startswith("O")]
    assert lines == ["O: * : * uniform", "OO: a : s : s uniform", "OO: a : s : t 1 0"]


def test_a_model_by_edge_stays_one_where_no_row_differs():
    assert read(format_pomdp(read(MODEL + "OO: * : * : * uniform"))).emission_by_edge


def test_a_normalized_row_reads_back_without_normalizing():
    record = read(MODEL + "T: a : s .5 .6\nstart: .1 .1", normalize=True)
    again = read(format_pomdp(record))
    assert again.digest() == record.digest()
    assert again.warnings == ()


def test_a_mixed_row_that_is_not_quite_one_is_divided_by_its_sum():
    text = "states: 3\nactions: 1\nobservations: 1\nO: * uniform\nT: * uniform\n"
    record = read(text + "T: 0 : 0 : 0 0.3333333333333")
    again = read(format_pomdp(record))
    assert again.digest() == record.digest()
    first = Fraction(3333333333333, 10**13)
    total = first + Fraction(2, 3)
    divided = [float(first / total), float(Fraction(1, 3) / total), float(Fraction(1, 3) / total)]
    assert again.transition.values[:3].tolist() == divided
    assert record.warnings == ()


# ---- what the format cannot hold


def two_states(**changes) -> Record:
    return replace(read(NAMES + "T: * uniform\nO: * uniform\nR: * : * : * : * 1"), **changes)


@pytest.mark.parametrize(
    "name",
    ["a b", "", "a:b", "x#", "*", "3", "1e5", "-", "+", "tab\t", "a\nb", "\x00", "a\x7f", "\ud800"],
)
def test_a_name_that_cannot_be_written_is_refused(name, tmp_path):
    target = tmp_path / "m.pomdp"
    with pytest.raises(InputError) as refused:
        write_pomdp(two_states(states=("s", name)), target)
    remedy = "--plain-names, in Python plain_names=True, writes s0, a0, o0"
    message = f"states: the name {name!r} cannot be written in this format; {remedy}"
    assert str(refused.value) == message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["T", "uniform", "*x", "é", "a\u00a0b", "-x", "1e999", "\u2028"])
def test_a_name_that_can_be_read_can_be_written(name):
    record = two_states(states=("s", name), actions=("0", "1"))
    assert read(format_pomdp(record)).digest() == record.digest()


def test_what_is_lost_is_noted(tmp_path):
    target, third = tmp_path / "m.pomdp", Fraction(1, 3)
    rewards = two_states().rewards
    assert write_pomdp(two_states(), target) == ()
    odd = Rewards(np.array([1 / 3]), rewards.index, (third,))
    assert write_pomdp(two_states(rewards=odd, discount=third), target) == (
        "rewards without a finite decimal were written as the nearest float: 1",
        "the discount 1/3 was written as its nearest float",
    )
    assert read_pomdp(target).rewards.values.tolist() == [1 / 3]


@pytest.mark.parametrize("make", [exact_rows, float_rows])
@pytest.mark.parametrize("start", [((0, 1), (1, 3), -1), ((0,), (1,), -1)])
def test_a_reset_to_elsewhere_is_written_as_it_is_and_noted(tmp_path, make, start):
    target, resets = tmp_path / "m.pomdp", np.array([[False, False], [False, True]])
    moves = make([((0, 1), (1, 1), -1)] * 3 + [((1,), (1,), -1)], 2)
    rewards = Rewards(np.ones(1), np.zeros(14, dtype=np.int64))
    record = two_states(resets=resets, start=make([start], 2), transition=moves, rewards=rewards)
    assert write_pomdp(record, target) == (
        "resets that do not lead to the start were written as ordinary rows of transitions: 1",
    )
    again = read_pomdp(target)
    assert again.transition.values.tolist() == record.transition.values.tolist()
    assert not again.resets.any()


def test_rows_known_only_in_floats_keep_their_bits():
    table = [((0, 1), (1, 2), -1)] * 4
    record = two_states(transition=float_rows(table, 2))
    assert not record.exact
    assert "T: * : * 0.3333333333333333 0.6666666666666666" in format_pomdp(record)
    again = read(format_pomdp(record))
    assert again.transition.values.tobytes() == record.transition.values.tobytes()


def test_weights_without_digits_are_still_exact():
    rows = exact_rows([((0, 1), (1, 2), -1)] * 4, 2)
    record = two_states(transition=replace(rows, digits=None))
    assert read(format_pomdp(record)).digest() == record.digest()
