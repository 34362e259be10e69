"""Every form that the format has, one at a time, and what it must mean."""

import gzip
import io
import sys
from fractions import Fraction
from itertools import permutations

import pytest
from tests.io.reading import NAMES, REST, emission, read, rewards, transition

from rpsr.io.pomdp.reader import read_pomdp

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
THREE = "states: s t u\nactions: a b\nobservations: x y\n" + REST


# ---- preamble


def test_preamble_statements_come_in_any_order():
    lines = ["discount: .9", "values: cost", "states: 2", "actions: 1", "observations: 1"]
    lines.append("start: 1")
    body = "T: * identity\nO: * uniform\nR: * : * : * : * 3\n"
    digests = {read("\n".join(order) + "\n" + body).digest() for order in permutations(lines)}
    assert len(digests) == 1


def test_the_preamble_may_follow_the_tables():
    assert read(REST + NAMES).digest() == read(NAMES + REST).digest()


def test_counts_name_things_by_number():
    record = read("states: 2\nactions: 3\nobservations: 1\n" + REST)
    assert record.states == ("0", "1")
    assert record.actions == ("0", "1", "2")
    assert record.observations == ("0",)


def test_an_absent_discount_is_absent():
    assert read(NAMES + REST).discount is None
    assert read("discount: 0.95\n" + NAMES + REST).discount == Fraction(19, 20)


def test_values_may_be_costs_and_that_is_said():
    text = NAMES + REST + "R: * : * : * : * 3\n"
    costs = read("values: cost\n" + text)
    assert set(rewards(costs).values()) == {Fraction(-3)}
    assert len(costs.warnings) == 1
    assert "values: cost" in costs.warnings[0]
    gains = read("values: reward\n" + text)
    assert set(rewards(gains).values()) == {Fraction(3)}
    assert gains.warnings == ()


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("", {0: THIRD, 1: THIRD, 2: THIRD}),
        ("start: uniform", {0: THIRD, 1: THIRD, 2: THIRD}),
        ("start: 0.25 0 .75", {0: Fraction(1, 4), 2: Fraction(3, 4)}),
        ("start: t", {1: Fraction(1)}),
        ("start: 2", {2: Fraction(1)}),
        ("start include: s 2", {0: HALF, 2: HALF}),
        ("start include: u u", {2: Fraction(1)}),
        ("start exclude: t", {0: HALF, 2: HALF}),
        ("start exclude:", {0: THIRD, 1: THIRD, 2: THIRD}),
    ],
)
def test_start(statement, expected):
    assert read(f"{THREE}{statement}\n").start.fractions(0) == expected


@pytest.mark.parametrize("statement", ["start: 1", "start: 1.0", "start: 0", "start: s", ""])
def test_start_with_a_single_state(statement):
    text = "states: s\nactions: 1\nobservations: 1\n" + REST
    assert read(text + statement).start.fractions(0) == {0: Fraction(1)}


# ---- T and O


def test_entries_rows_and_matrices_say_the_same():
    matrix = read(NAMES + "O: * uniform\nT: *\n.2 .8\n1 0\n")
    rows = read(NAMES + "O: * uniform\nT: * : s .2 .8\nT: * : t 1 0\n")
    entries = read(
        NAMES + "O: * uniform\nT: * : s : s .2\nT: * : s : t .8\nT: a : t : s 1\nT: b : 1 : 0 1"
    )
    assert matrix.digest() == rows.digest() == entries.digest()
    assert transition(matrix, 1, 0) == {0: Fraction(1, 5), 1: Fraction(4, 5)}


def test_observation_rows_are_by_action_and_next_state():
    record = read(NAMES + "T: * identity\nO: a\n1 0\n0 1\nO: b : * uniform\n")
    assert emission(record, 0, 0) == {0: Fraction(1)}
    assert emission(record, 0, 1) == {1: Fraction(1)}
    assert emission(record, 1, 1) == {0: HALF, 1: HALF}


def test_identity_uniform_and_reset():
    record = read(
        THREE + "start: .5 0 .5\nT: a uniform\nT: b : t reset\nT: b : u uniform\nO: a : s 1 0"
    )
    assert transition(record, 0, 2) == {0: THIRD, 1: THIRD, 2: THIRD}
    assert transition(record, 1, 0) == {0: Fraction(1)}
    assert transition(record, 1, 1) == record.start.fractions(0) == {0: HALF, 2: HALF}
    assert record.resets.tolist() == [[False] * 3, [False, True, False]]


def test_a_reset_is_the_start_to_the_last_bit():
    record = read(NAMES + REST + "start: .3333333333333 .6666666666667\nT: * reset\n")
    assert record.resets.all()
    assert record.transition.values.tolist() == record.start.values.tolist() * 4


def test_a_reset_that_was_written_over_is_none():
    record = read(THREE + "T: * reset\nT: a : s 1 0 0")
    assert record.resets.tolist() == [[False, True, True], [True] * 3]
    partly = read(THREE + "start: s\nT: * reset\nT: a : s : s 1")
    assert not partly.resets[0, 0]


def test_later_statements_override_earlier_ones():
    record = read(NAMES + REST + "T: * : s .5 .5\nT: a : s 0 1\nT: a : * : s .25\nT: a : * : t .75")
    assert transition(record, 0, 0) == {0: Fraction(1, 4), 1: Fraction(3, 4)}
    assert transition(record, 1, 0) == {0: HALF, 1: HALF}


def test_a_zero_clears_what_was_written():
    record = read(NAMES + REST + "T: * uniform\nT: a : s : t 0\nT: a : s : s 1.")
    assert transition(record, 0, 0) == {0: Fraction(1)}
    assert transition(record, 0, 1) == {0: HALF, 1: HALF}


def test_a_zero_for_all_clears_them_all():
    record = read(NAMES + REST + "T: * uniform\nT: * : * : * 0\nT: * : * : t 1")
    assert record.transition.indices.tolist() == [1] * 4


def test_decimals_beside_uniform_values_add_up_exactly():
    third = read(THREE + "T: a uniform\nT: a : s : s 0.3333333333333")
    assert sum(transition(third, 0, 0).values()) == 1
    exact = transition(third, 0, 0)
    assert exact[0] == Fraction("0.3333333333333") / (Fraction("0.3333333333333") + Fraction(2, 3))
    assert third.transition.values[:3].tolist() == [float(exact[t]) for t in range(3)]


def test_sums_beyond_64_bits_are_exact():
    text = "states: 13\nactions: 1\nobservations: 1\nO: * uniform\nT: * uniform\n"
    record = read(text + "T: 0 : 0 : 0 0.076923076923076923", normalize=True)
    first = Fraction("0.076923076923076923")
    assert transition(record, 0, 0)[0] == first / (first + Fraction(12, 13))
    nines = " ".join(["0.999999999999999999"] * 13)
    record = read(text + f"T: 0 : 0 {nines}", normalize=True)
    assert set(transition(record, 0, 0).values()) == {Fraction(1, 13)}
    assert record.warnings == ("1 row was rescaled to sum to 1 (largest deviation 12)",)


# ---- OO


def test_observations_may_depend_on_the_state_left():
    text = NAMES + "T: * uniform\nO: * uniform\nOO: a : s : t 1 0\nOO: b : * : s uniform\n"
    record = read(text + "OO: b : t : * : x 0\nOO: b : t : * : y 1.0")
    assert record.emission_by_edge
    rows = [record.emission.fractions(edge) for edge in range(8)]
    x, y, both = {0: Fraction(1)}, {1: Fraction(1)}, {0: HALF, 1: HALF}
    assert rows == [both, x, both, both, both, both, y, y]


def test_only_transitions_that_happen_need_their_observations():
    text = NAMES + "T: * identity\nOO: * : s : s 1 0\nOO: * : t : t 0 1\n"
    assert read(text).emission.height == 4


# ---- R


def test_rewards_by_all_four_indices():
    record = read(NAMES + "T: * uniform\nO: * uniform\nR: a : s : t : y 5\nR: b : 1 : * : * -1")
    expected = {(0, 0, 1, 1): Fraction(5)}
    expected |= {(1, 1, t, o): Fraction(-1) for t in (0, 1) for o in (0, 1)}
    assert {cell: value for cell, value in rewards(record).items() if value} == expected


def test_rewards_by_row_and_matrix():
    record = read(NAMES + "T: * uniform\nO: * uniform\nR: a : s\n1 2\n3 4\nR: a : t : s 5 6\n")
    table = rewards(record)
    assert [table[0, 0, t, o] for t in (0, 1) for o in (0, 1)] == [1, 2, 3, 4]
    assert [table[0, 1, 0, o] for o in (0, 1)] == [5, 6]
    assert table[0, 1, 1, 0] == 0


def test_the_last_matching_reward_wins_and_zero_is_a_value():
    table = rewards(
        read(NAMES + REST + "R: a : * : * : * 3\nR: * : s : * : * 4\nR: a : s : * : x 0")
    )
    assert table[0, 0, 0, 0] == 0
    assert table[0, 0, 0, 1] == 4
    assert table[0, 1, 1, 0] == 3


# ---- numbers, comments, characters


@pytest.mark.parametrize(
    ("notation", "value"),
    [
        (".5", HALF), ("1.", Fraction(1)), ("1e-3", Fraction(1, 1000)), ("+2", Fraction(2)),
        ("- 5", Fraction(-5)), ("-\t.5", -HALF), ("+ 1.5E+2", Fraction(150)), ("-0", Fraction(0)),
        ("0.1", Fraction(1, 10)), ("007", Fraction(7)), ("1e22", Fraction(10**22)),
        ("123456789012345678901234567890.5", Fraction(246913578024691357802469135781, 2)),
        ("5e-324", Fraction(5, 10**324)),
    ],
)  # fmt: skip
def test_number_notations(notation, value):
    record = read(NAMES + REST + f"R: * : * : * : * {notation}\n")
    assert record.rewards.exact == (value,)
    assert record.rewards.values.tolist() == [float(value)]


def test_comments_may_stand_anywhere():
    text = "# T: x\nstates: s#one\n t # two: R\nactions: a b\nobservations:# :\nx y\n"
    assert (
        read(text + "T#\n:\n*#\nidentity\nO: * uniform # end").digest()
        == read(NAMES + REST).digest()
    )


@pytest.mark.parametrize("newline", ["\r\n", "\r", "\n\n", " \t\n\f"])
def test_line_ends(newline):
    assert read((NAMES + REST).replace("\n", newline)).digest() == read(NAMES + REST).digest()


def test_a_byte_order_mark_is_ignored():
    assert read(b"\xef\xbb\xbf" + (NAMES + REST).encode()).digest() == read(NAMES + REST).digest()


def test_names_may_be_any_utf8_and_comments_any_bytes():
    record = read("states: état 状態\nactions: a\nobservations: x\n".encode() + REST.encode())
    assert record.states == ("état", "状態")
    assert read(NAMES.encode() + b"# caf\xe9 \xff\n" + REST.encode()).states == ("s", "t")


def test_keywords_may_be_names():
    text = "states: start T uniform\nactions: R reset\nobservations: O states\nstart: T\n"
    record = read(
        text + "T: R identity\nT: reset : * uniform\nT: reset : start reset\nO: * uniform\n"
        "O: R : T : O 1\nO: R : T : states 0\nR: R : T : T : O 7\nR: reset : uniform : * : * 2"
    )
    assert record.states == ("start", "T", "uniform")
    assert record.start.fractions(0) == {1: Fraction(1)}
    assert transition(record, 0, 1) == {1: Fraction(1)}
    assert record.resets.tolist() == [[False] * 3, [True, False, False]]
    assert emission(record, 0, 1) == {0: Fraction(1)}
    assert rewards(record)[0, 1, 1, 0] == 7


def test_one_name_may_be_used_on_every_axis():
    text = "states: n m\nactions: m n\nobservations: n m\n" + REST + "R: m : n : n : m 1\n"
    assert rewards(read(text))[0, 0, 0, 1] == 1


def test_a_name_wins_over_an_index_and_indices_work_beside_names():
    record = read(NAMES + REST + "T: 1 : 0 : t 1\nT: b : s : 0 0\n")
    assert transition(record, 1, 0) == {1: Fraction(1)}


# ---- where a text comes from


def test_gzip_standard_input_and_plain_files(tmp_path, monkeypatch):
    content = (NAMES + REST).encode()
    plain, packed = tmp_path / "two.pomdp", tmp_path / "two.POMDP.gz"
    plain.write_bytes(content)
    packed.write_bytes(gzip.compress(content))
    assert read_pomdp(plain).name == read_pomdp(str(packed)).name == "two"
    assert read_pomdp(packed).digest() == read_pomdp(plain).digest()
    for stream in (content, gzip.compress(content)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stream)))
        record = read_pomdp("-")
        assert record.name == "stdin"
        assert record.digest() == read_pomdp(plain).digest()


def test_what_is_read_cannot_be_written_to():
    record = read(NAMES + REST)
    with pytest.raises(ValueError, match="read-only"):
        record.transition.values[0] = 2.0
