"""POMDPX files read as their definition says, checked by enumeration."""

from fractions import Fraction

import numpy as np
import pytest
from tests.io.pomdpx import files
from tests.io.pomdpx.enumeration import Model

from rpsr import POMDP
from rpsr.io.pomdpx.reader import parse_pomdpx
from rpsr.io.records import Record
from rpsr.io.variables import Variable


def read(text: str, **options) -> Record:
    return parse_pomdpx(text.encode(), place="f", name="f", **options)


def assert_means(record: Record, model: Model) -> None:
    """The record has exactly the probabilities and rewards of the enumeration."""
    start = record.start.fractions(0)
    assert [start.get(s, Fraction(0)) for s in range(len(record.states))] == model.start()
    wanted = {(a, s, t, o): (p, r) for a, s, t, o, p, r in model.outcomes()}
    edge, entry = record.outcome_entries()
    cells = record.outcome_cells(edge, entry)
    n, rows = len(record.states), record.transition.row_of_entry()
    outcomes = {}
    for i, (a, s, t, o) in enumerate(zip(*(part.tolist() for part in cells), strict=True)):
        moves = record.transition.fractions(int(rows[edge[i]]))
        emissions = record.emission.fractions(a * n + t)
        reward = record.rewards.exact[record.rewards.index[i]]
        outcomes[a, s, t, o] = (moves[t] * emissions[o], reward)
    assert outcomes == wanted
    floats = POMDP(record).outcomes.probability
    exact = [float(outcomes[key][0]) for key in zip(*(c.tolist() for c in cells), strict=True)]
    np.testing.assert_allclose(floats, exact, rtol=1e-15)


@pytest.mark.parametrize("seed", range(120))
def test_a_random_factored_file_is_the_product_of_its_functions(seed):
    text = files.random_file(seed)
    assert_means(read(text), Model(text))


def test_tables_and_diagrams_are_the_same_model():
    tables, diagrams = read(files.ROVER), read(files.DIAGRAMS)
    assert_means(tables, Model(files.ROVER))
    assert_means(diagrams, Model(files.DIAGRAMS))
    assert tables.digest() == diagrams.digest()
    assert tables.warnings == diagrams.warnings == ()


def test_joint_names_and_observed_variables_are_kept():
    record = read(files.ROVER)
    assert record.states[:3] == ("rover=s0,rock=good", "rover=s0,rock=bad", "rover=s1,rock=good")
    assert record.actions == ("west", "east", "check", "sample")
    assert record.observations[3:] == (
        "rover=s1,sensor=obad",
        "rover=s2,sensor=ogood",
        "rover=s2,sensor=obad",
    )
    assert record.state_variables == (
        Variable("rover", ("s0", "s1", "s2"), observed=True),
        Variable("rock", ("good", "bad"), observed=False),
    )


def test_a_terminal_state_is_absorbing():
    absorbing = POMDP(read(files.ROVER)).absorbing
    names = [name for name, end in zip(read(files.ROVER).states, absorbing, strict=True) if end]
    assert names == ["rover=s2,rock=good", "rover=s2,rock=bad"]


def test_names_that_share_no_beginning_are_those_before_the_action():
    text = files.ROVER.replace("rover_0", "here").replace("rover_1", "there")
    assert read(text).states[0] == "here=s0,rock_0=good"


def test_a_number_after_the_name_stays():
    text = files.ROVER.replace("rock_", "rock10_")
    assert read(text).states[0] == "rover=s0,rock10=good"


def test_values_may_be_given_by_number():
    text = files.ROVER.replace("sample s0 * -", "3 0 * -")
    assert read(text).digest() == read(files.ROVER).digest()


def test_a_random_start_of_an_observed_variable_is_said():
    text = files.ROVER.replace("0.0 1.0 0.0", "0.5 0.5 0.0")
    (warning,) = read(text).warnings
    assert "SARSOP observes them before the first action" in warning


def test_rewards_of_terminal_states_are_ignored_and_said():
    text = files.ROVER.replace("<RewardVar", '<TerminalStateRewardVar vname="end"/><RewardVar')
    (warning,) = read(text).warnings
    assert warning == "rewards of terminal states were ignored, as SARSOP ignores them"


def test_a_file_without_a_start_must_be_fully_observed():
    text = files.ROVER.replace(files.START, "")
    with pytest.raises(Exception, match="<InitialStateBelief> has no function of rover_0"):
        read(text)
    seen = text.replace('vnameCurr="rock_1">', 'vnameCurr="rock_1" fullyObs="true">')
    record = read(seen)
    assert record.start.fractions(0) == dict.fromkeys(range(6), Fraction(1, 6))
    assert "a uniform start was assumed" in record.warnings[0]


def test_a_file_without_observations_has_one():
    text = "".join(line for line in files.HEAD.splitlines(True) if "ObsVar" not in line)
    text = text.replace('fullyObs="true"', "") + files.START + files.MOVES + files.GAINS
    assert read(text + "</pomdpx>").observations == ("nothing",)


def test_rows_are_rescaled_only_if_asked():
    text = files.ROVER.replace("0.8 0.2 0.2 0.8", "0.8 0.3 0.2 0.8", 1)
    with pytest.raises(Exception, match=r"sums to 1\.1, expected 1"):
        read(text)
    record = read(text, normalize=True)
    assert_means(record, Model(text))
    assert record.warnings == ("1 row was rescaled to sum to 1 (largest deviation 0.1)",)
