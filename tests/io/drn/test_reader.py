"""What the reader makes of DRN files."""

import gzip
from fractions import Fraction

import pytest
from tests.io.drn.files import DOORS, read
from tests.io.reading import emission, transition

from rpsr import load
from rpsr.models.pomdp import POMDP


def test_names_rows_and_observations():
    record = read(DOORS)
    assert record.states == ("0", "1", "2", "3")
    assert record.actions == ("look", "left", "right", "choice0")
    assert record.observations == ("2", "5", "9")
    assert record.discount is None
    assert record.exact
    assert record.start.fractions(0) == {0: 1}
    assert transition(record, 0, 0) == {1: Fraction(1, 3), 2: Fraction(2, 3)}
    assert transition(record, 1, 1) == {1: Fraction(1, 4), 3: Fraction(3, 4)}
    assert transition(record, 2, 2) == {2: Fraction(1, 4), 3: Fraction(3, 4)}
    for action in range(4):
        seen = [emission(record, action, state) for state in range(4)]
        assert seen == [{1: 1}, {0: 1}, {0: 1}, {2: 1}]


def test_an_unavailable_action_acts_as_the_first_available_one():
    record = read(DOORS)
    assert record.unavailable is not None
    assert record.unavailable.T.tolist() == [
        [False, True, True, True],
        [True, False, False, True],
        [True, False, False, True],
        [True, True, True, False],
    ]
    assert [transition(record, a, 1) for a in (0, 3)] == [transition(record, 1, 1)] * 2
    assert record.warnings[-1].endswith("available action does (10 pairs of state and action)")


def test_labels_without_the_initial_one():
    expected = {"closed": (1, 2), "the left door": (2,), "deadlock": (3,), "goal": (3,)}
    assert POMDP(read(DOORS)).labels == expected


def test_rewards_of_states_and_actions_add_up_and_come_from_the_first_reward_model():
    record = read(DOORS)
    rewards = POMDP(record).exact_rewards()
    assert [row[0] for row in rewards] == [Fraction(3, 2), -2, 0, 0]
    assert rewards[1] == (-2, -2, Fraction(-7, 4), -2)
    assert record.warnings[0] == (
        "rewards were read from 'cost', the first reward model; other reward models were ignored: "
        "'time'"
    )


def test_rewards_may_stand_before_the_observation_and_placeholders_for_numbers():
    moved = DOORS.replace("state 1 {2} [-2, 0]", "state 1 [-2, 0] {2}")
    assert read(moved).digest() == read(DOORS).digest()
    held = DOORS.replace("@model", "@placeholders\n$third : 1/3\n@model").replace(
        "1 : 1/3", "1 : $third"
    )
    assert read(held).digest() == read(DOORS).digest()


def test_states_in_any_order_and_line_ends_of_any_kind():
    head, _, states = DOORS.partition("@model\n")
    blocks = ["state" + block for block in states.split("state")[1:]]
    shuffled = read(head + "@model\n" + "".join([*blocks[2:], *blocks[:2]]))
    assert shuffled.labels[0] == ("the left door", (2,))
    assert transition(shuffled, shuffled.actions.index("look"), 0) == transition(read(DOORS), 0, 0)
    assert read(DOORS.replace("\n", "\r\n")).digest() == read(DOORS).digest()


def test_the_digits_that_storm_prints_are_rescaled_with_a_warning():
    printed = DOORS.replace("1/3", "0.3333333333").replace("2/3", "0.6666666666")
    record = read(printed)
    assert transition(record, 0, 0) == {1: Fraction(1, 3), 2: Fraction(2, 3)}
    assert any("1 row was rescaled to sum to 1" in warning for warning in record.warnings)


def test_normalize_accepts_any_sum():
    record = read(DOORS.replace("7.5e-1", "0.25"), normalize=True)
    assert transition(record, 1, 1) == {1: Fraction(1, 2), 3: Fraction(1, 2)}


@pytest.mark.parametrize("name", ["doors.drn", "doors.drn.gz", "doors.pomdp", "doors"])
def test_recognised_by_content_whatever_the_name(tmp_path, name):
    content = DOORS.encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    model = load(tmp_path / name)
    assert model.digest == POMDP(read(DOORS)).digest
    assert model.name == "doors"
