from fractions import Fraction

import pytest
from tests.domains.laws import (
    earnings,
    emissions,
    mirrored,
    moves,
    named_outcomes,
    steps_from_start,
)

from rpsr.domains.tmaze import t_maze

LENGTHS = [1, 2, 3, 10, 40]


@pytest.mark.parametrize("length", LENGTHS)
def test_mazes_of_any_length(length: int) -> None:
    model = t_maze(length=length)
    assert len(model.states) == 2 * (length + 1) + 1
    distance = steps_from_start(model)
    assert set(distance) == set(model.states)
    assert distance[f"goal-north-{length}"] == length + 1


@pytest.mark.parametrize("length", LENGTHS)
def test_north_and_south_are_alike(length: int) -> None:
    flip = {f"goal-north-{cell}": f"goal-south-{cell}" for cell in range(length + 1)}
    flip |= {"north": "south", "sign-north": "sign-south"}
    outcomes = named_outcomes(t_maze(length=length))
    assert mirrored(outcomes, flip) == outcomes


@pytest.mark.parametrize("length", LENGTHS)
def test_only_the_sign_tells_the_goal(length: int) -> None:
    look = emissions(t_maze(length=length), "east")
    for cell in range(1, length + 1):
        assert look[f"goal-north-{cell}"] == look[f"goal-south-{cell}"]
    assert look["goal-north-0"] == {"sign-north": 1}
    assert look["goal-south-0"] == {"sign-south": 1}


@pytest.mark.parametrize("length", LENGTHS)
def test_an_episode_that_heeds_the_sign(length: int) -> None:
    model = t_maze(length=length)
    follow, earned = moves(model), earnings(model)
    assert follow["outside", "west"] == {
        "goal-north-0": Fraction(1, 2),
        "goal-south-0": Fraction(1, 2),
    }
    state, pay = "goal-south-0", Fraction(0)
    for action in ["east"] * length + ["south"]:
        pay += earned[state, action]
        [state] = follow[state, action]
    assert (state, pay) == ("outside", 4)
    assert earned[f"goal-north-{length}", "south"] == Fraction(-1, 10)


@pytest.mark.parametrize("length", LENGTHS)
def test_walls_cost_and_turns_end_the_episode(length: int) -> None:
    model = t_maze(length=length, standstill=-0.5)
    follow, earned = moves(model), earnings(model)
    for state in model.states[1:]:
        for action in model.actions:
            stands_still = follow[state, action] == {state: 1}
            assert (earned[state, action] == Fraction(-1, 2)) == stands_still
    ends = {
        (model.actions[a], model.states[s]) for a, s in zip(*model.resets.nonzero(), strict=True)
    }
    assert ends == {
        (turn, f"goal-{goal}-{length}")
        for turn in ("north", "south")
        for goal in ("north", "south")
    }


def test_lengths_are_positive() -> None:
    with pytest.raises(ValueError, match="length is 0"):
        t_maze(length=0)
