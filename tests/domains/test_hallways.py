from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from tests.domains.compare import assert_same_as_file
from tests.domains.laws import emissions, mirrored, moves, named_outcomes, steps_from_start
from tests.naive_reader import read

from rpsr.domains.hallways import hallway, hallway2, tiger_grid
from rpsr.models import POMDP

FLOORS = [hallway, hallway2, tiger_grid]
ULP = Fraction(1, 10**6)  # the last digit that the files print

# The files cut probabilities off after six digits. What a row lacks to sum to one then goes to its
# first entry in the start, and to its last one in the observations, so that these two are further
# off than an ulp: by 55 of 1/7 ulp in hallway's start, 87 of 7/11 ulp in hallway2's, and by up to
# 15 ulp in an observation row of 16. No row is rescaled, and the transitions are exact.
FILES = [
    (hallway, "hallway.POMDP", 15 * ULP),
    (hallway2, "hallway2.POMDP", 56 * ULP),
    (tiger_grid, "tiger-grid.POMDP", 8 * ULP),
]


@pytest.mark.parametrize(("make", "file", "tolerance"), FILES)
def test_floor_equals_its_file(
    corpus: Path, make: Callable[[], POMDP], file: str, tolerance: Fraction
) -> None:
    assert_same_as_file(make(), corpus / file, tolerance=tolerance)


@pytest.mark.parametrize(("make", "file", "_tolerance"), FILES)
def test_files_cut_probabilities_off(
    corpus: Path, make: Callable[[], POMDP], file: str, _tolerance: Fraction
) -> None:
    # Sharper than the test above: every printed number but the one that takes up the slack is the
    # exact one, less at most one ulp.
    record, printed = make().record, read(corpus / file)
    n = len(printed.states)
    start = {s: p for s, p in enumerate(printed.start) if p}
    goals = {
        s
        for s in range(n)
        if s not in start and printed.O[0, s] == {len(printed.observations) - 1: 1}
    }
    rows = [(record.start.fractions(0), start, min(start))]
    for a in range(len(printed.actions)):
        for s in range(n):
            rows.append((record.emission.fractions(a * n + s), printed.O[a, s], 15))
            if s in goals:
                rows.append((record.transition.fractions(a * n + s), printed.T[a, s], min(start)))
            else:
                assert record.transition.fractions(a * n + s) == printed.T[a, s]
    for ours, theirs, slack in rows:
        assert sum(theirs.values()) == 1
        assert all(0 <= ours[i] - p <= ULP for i, p in theirs.items() if i != slack)


@pytest.mark.parametrize("make", FLOORS)
def test_a_perfect_sensor_sees_the_walls_that_stop_the_robot(make: Callable[..., POMDP]) -> None:
    model = make(wall_seen=1, wall_imagined=0)
    look, follow = emissions(model, "stay"), moves(model)
    for state in model.states:
        [seen] = look[state]
        if seen.startswith("walls"):
            stopped = follow[state, "forward"].get(state, 0) >= Fraction(8, 10)
            assert ("F" in seen) == stopped


@pytest.mark.parametrize("make", FLOORS)
def test_the_sensor_judges_each_side_by_itself(make: Callable[..., POMDP]) -> None:
    model = make(wall_seen=0.8, wall_imagined=0.3)
    truth = emissions(make(wall_seen=1, wall_imagined=0), "stay")
    for state, seen in emissions(model, "stay").items():
        [walls] = truth[state]
        if walls.startswith("walls"):
            front = sum(p for o, p in seen.items() if "F" in o)
            assert front == (Fraction(8, 10) if "F" in walls else Fraction(3, 10))
            assert len(seen) == 16


@pytest.mark.parametrize("make", FLOORS)
def test_turning_knows_nothing_of_walls(make: Callable[[], POMDP]) -> None:
    model = make()
    follow, look = moves(model), emissions(model, "stay")
    for state in model.states:
        if "goal" not in look[state]:
            cell, heading = state.split("-")
            for action, quarters in (("right", 1), ("around", 2), ("left", 3)):
                ends = follow[state, action]
                assert {end.split("-")[0] for end in ends} == {cell}
                [likeliest] = [end for end, p in ends.items() if p == max(ends.values())]
                assert likeliest == f"{cell}-{'NESW'[('NESW'.index(heading) + quarters) % 4]}"


_EAST_WEST = {"E": "W", "W": "E"}
_NORTH_SOUTH = {"N": "S", "S": "N"}


def _across(state: str, width: int) -> str:
    """The same pose once east and west are exchanged."""
    row, column, heading = state.replace("c", " ").replace("-", " ").split()
    return f"{row}c{width - 1 - int(column)}-{_EAST_WEST.get(heading, heading)}"


def _upside_down(state: str, height: int) -> str:
    """The same pose once north and south are exchanged."""
    row, column, heading = state[1:].replace("c", " ").replace("-", " ").split()
    return f"r{height - 1 - int(row)}c{column}-{_NORTH_SOUTH.get(heading, heading)}"


def _looking_glass(pattern: str) -> str:
    """The same walls once left and right are exchanged."""
    if not pattern.startswith("walls") or ("L" in pattern) == ("R" in pattern):
        return pattern
    seen = set(pattern) ^ {"L", "R"}
    return f"walls-{''.join(side for side in 'FRBL' if side in seen)}"


def test_tiger_grid_is_its_own_mirror_image() -> None:
    model = tiger_grid()
    outcomes = named_outcomes(model)
    flip = {state: _across(state, width=5) for state in model.states} | {"left": "right"}
    flip |= {seen: _looking_glass(seen) for seen in model.observations}
    assert mirrored(outcomes, flip) == outcomes


@pytest.mark.parametrize(
    "image", [lambda s: _across(s, width=7), lambda s: _upside_down(s, height=5)]
)
def test_only_the_goal_breaks_the_symmetries_of_hallway2(image: Callable[[str], str]) -> None:
    model = hallway2()
    follow, look = moves(model), emissions(model, "stay")
    turn = {"left": "right", "right": "left"}
    for state in model.states:
        if "goal" not in look[state] and "goal" not in look[image(state)]:
            seen = {_looking_glass(pattern): p for pattern, p in look[state].items()}
            assert look[image(state)] == seen
            for action in model.actions:
                ends = {image(end): p for end, p in follow[state, action].items()}
                assert follow[image(state), turn.get(action, action)] == ends


@pytest.mark.parametrize("alcoves", [1, 2, 4, 6])
def test_hallways_of_other_lengths(alcoves: int) -> None:
    model = hallway(alcoves=alcoves)
    assert len(model.states) == 4 * (2 * alcoves + 3 + alcoves)
    assert len(model.observations) == 16 + alcoves + 1
    look = emissions(model, "stay")
    known = {state: seen for state, seen in look.items() if len(seen) == 1}
    assert [state for state in known if "r0" in state] == [
        f"r0c{2 * (i + 1)}-S" for i in range(alcoves)
    ]
    # There is one way into an alcove, so that one can be in the goal facing north or south only.
    goal = f"r1c{2 * alcoves}"
    assert set(model.states) - set(steps_from_start(model)) == {f"{goal}-E", f"{goal}-W"}
    arrivals = {end for (_, _, end, _), (_, pay) in named_outcomes(model).items() if pay == 1}
    assert arrivals == {f"{goal}-N", f"{goal}-S"}


@pytest.mark.parametrize("make", FLOORS)
def test_goals_start_over(make: Callable[[], POMDP]) -> None:
    model = make()
    follow, look = moves(model), emissions(model, "stay")
    start = {model.states[s]: p for s, p in model.record.start.fractions(0).items()}
    goals = [state for state in model.states if look[state] == {"goal": Fraction(1)}]
    assert len(goals) == 4
    assert all(follow[goal, action] == start for goal in goals for action in model.actions)


def test_parameters_are_checked() -> None:
    with pytest.raises(ValueError, match="alcoves is 0"):
        hallway(alcoves=0)
    with pytest.raises(ValueError, match=r"wall_seen is 1\.1"):
        hallway2(wall_seen=1.1)
    with pytest.raises(ValueError, match="wall_imagined is -1"):
        tiger_grid(wall_imagined=-1)
