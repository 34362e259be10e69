"""What the reader makes of files in PRISM's explicit form."""

from fractions import Fraction

import numpy as np
import pytest
from tests.io.prism.files import COMMANDS, DOORS, LABELS, MODULE, read
from tests.io.reading import emission, rewards, transition

from rpsr import load
from rpsr.models.pomdp import POMDP

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


def test_names_rows_and_observations():
    record = read(DOORS)
    assert record.states == ("0", "1", "2", "3", "4")
    assert record.actions == ("look", "left", "right")
    assert record.observations == ("0", "1", "4", "7")
    assert record.discount is None
    assert record.exact
    assert record.start.fractions(0) == {0: 1}
    assert transition(record, 0, 0) == {1: THIRD, 2: 2 * THIRD}
    assert transition(record, 1, 1) == {1: Fraction(1, 4), 3: Fraction(3, 4)}
    assert transition(record, 1, 2) == {4: 1}
    assert transition(record, 2, 2) == {2: Fraction(1, 4), 3: Fraction(3, 4)}
    for action in range(3):
        seen = [emission(record, action, state) for state in range(5)]
        assert seen == [{3: 1}, {0: 1}, {0: 1}, {1: 1}, {2: 1}]


def test_an_unavailable_action_acts_as_the_first_available_one():
    record = read(DOORS)
    look, left, right = range(3)
    expected = np.zeros((3, 5), dtype=bool)
    expected[look, [1, 2]] = True
    expected[np.ix_([left, right], [0, 3, 4])] = True
    assert record.unavailable is not None
    assert record.unavailable.tolist() == expected.tolist()
    worth = rewards(record)
    for action, state in np.argwhere(expected).tolist():
        first = left if action == look else look
        assert transition(record, action, state) == transition(record, first, state)
        for target in transition(record, action, state):
            (one,) = {
                v for (a, s, t, _), v in worth.items() if (a, s, t) == (action, state, target)
            }
            (two,) = {v for (a, s, t, _), v in worth.items() if (a, s, t) == (first, state, target)}
            assert one == two
    (_, warning) = record.warnings
    assert warning.endswith("available action does (8 pairs of state and action)")


def test_labels_name_states():
    pomdp = POMDP(read(DOORS))
    assert pomdp.labels == {"goal": (3,), "end": (3, 4), "none": ()}


def test_rewards_of_states_and_actions_add_up_and_come_from_the_first_reward_model():
    record = read(DOORS)
    rewards = POMDP(record).exact_rewards()
    assert rewards[0] == (10, 10, 10)
    assert rewards[1] == (Fraction(9, 4), Fraction(9, 4), Fraction(5, 2))
    assert rewards[2] == (HALF, HALF, HALF)
    assert rewards[3] == (10, 10, 10)
    assert record.warnings[0] == (
        "rewards were read from 'steps', the first reward model; other reward models were ignored: "
        "'other'"
    )


def test_without_rewards_all_are_zero():
    assert set(rewards(read(MODULE)).values()) == {0}


def test_a_file_of_commands_alone_is_read_with_a_warning():
    record, whole = read(COMMANDS + LABELS), read(MODULE + LABELS)
    assert record.warnings[0] == (
        "the commands are in no module: 's', the variable of the guards, was read as the state, "
        "'o' as the observation, and s=0 as the initial state"
    )
    assert record.labels == whole.labels
    assert record.states == whole.states
    assert record.transition.weights.tolist() == whole.transition.weights.tolist()
    # No command enters the initial state: its observation is one that no other state has.
    assert record.observations == ("0", "1", "2", "4")
    assert emission(record, 0, 0) == {2: 1}


def test_the_variables_of_a_file_of_commands_are_named_by_its_guards():
    renamed = COMMANDS.replace("s'", "x'").replace(" s=", " x=").replace("o'", "obs'")
    assert read(renamed).states == read(COMMANDS).states
    assert (
        "'x', the variable of the guards, was read as the state, 'obs' as the observation"
        in read(renamed).warnings[0]
    )


def test_states_that_are_not_reached_are_left_out():
    more = MODULE.replace("endmodule", "  [left] s=5 -> 1 : (s'=5) & (o'=3);\nendmodule")
    record = read(more + 'label "far" = s=5 | s=1;')
    assert record.states == ("0", "1", "2", "3", "4")
    assert record.labels == (("far", (1,)),)
    assert "left out 1 state not reachable from the initial state" in record.warnings


def test_a_probability_of_zero_leads_nowhere():
    zero = MODULE.replace("1 : (s'=4)", "0 : (s'=5) & (o'=3) + 1 : (s'=4)")
    assert read(zero).states == ("0", "1", "2", "3", "4")
    assert transition(read(zero), 2, 1) == {4: 1}


def test_a_state_without_a_command_stays():
    record = read(MODULE.replace("  [look] s=4 -> 1.0 : (s'=4) & (o'=4);\n", ""))
    assert record.labels == (("deadlock", (4,)),)
    assert "no action leaves a state without a command (1 state)" in record.warnings
    assert [transition(record, a, 4) for a in range(3)] == [{4: 1}] * 3
    assert not record.unavailable[:, 4].any()


def test_commands_without_a_name_are_numbered_in_each_state():
    plain = MODULE.replace("[look]", "[]").replace("[left]", "[]").replace("[right]", "[]")
    record = read(plain + 'rewards "r"\n [] s=1 : 2;\nendrewards\n')
    assert record.actions == ("0", "1")
    assert POMDP(record).R.tolist() == [[0, 0], [2, 2], [0, 0], [0, 0], [0, 0]]
    some = read(MODULE.replace("[look]", "[]"))
    assert some.actions == ("choice0", "left", "right")
    assert transition(record, 1, 2) == {2: Fraction(1, 4), 3: Fraction(3, 4)}


def test_the_same_next_state_twice_in_a_row_is_summed():
    twice = MODULE.replace("1 : (s'=4) & (o'=4);", "0.5 : (s'=4) & (o'=4) + 1/2 : (s'=4) & (o'=4);")
    assert transition(read(twice), 2, 1) == {4: 1}


@pytest.mark.parametrize("third", ["0.333333", "0.3333333333333333"])
def test_rows_off_by_rounding_are_divided_by_their_sum(third):
    rounded = MODULE.replace("1/3", third).replace("2/3", "0." + "6" * (len(third) - 3) + "7")
    total = Fraction(third) + Fraction("0." + "6" * (len(third) - 3) + "7")
    assert transition(read(rounded), 0, 0)[1] == Fraction(third) / total
    uneven = MODULE.replace("1/3", third).replace("2/3", third + f" : (s'=1) & (o'=0) + {third}")
    record = read(uneven)
    assert transition(record, 0, 0) == {1: 2 * THIRD, 2: THIRD}
    rescaled = [w for w in record.warnings if "rescaled to sum to 1" in w]
    assert len(rescaled) == (1 if len(third) == 8 else 0)


def test_normalize_accepts_any_sum():
    record = read(MODULE.replace("0.75 : (s'=3)", "0.25 : (s'=3)"), normalize=True)
    assert transition(record, 1, 1) == {1: HALF, 3: HALF}


@pytest.mark.parametrize("name", ["doors.prism", "doors.pomdp", "doors.templ"])
def test_recognised_by_content_whatever_the_name(tmp_path, name):
    (tmp_path / name).write_text(DOORS)
    assert load(tmp_path / name).digest == POMDP(read(DOORS)).digest
    (tmp_path / name).write_text(COMMANDS)
    assert load(tmp_path / name).digest == POMDP(read(COMMANDS)).digest
