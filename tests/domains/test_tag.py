from fractions import Fraction
from pathlib import Path

import pytest
from tests.domains.compare import assert_same_as_file
from tests.domains.laws import earnings, emissions, moves

from rpsr.domains.tag import tag

CELLS, TAGGED = 29, 29
MOVES = ("North", "South", "East", "West")


def state(robot: int, opponent: int) -> str:
    return f"s{robot * (CELLS + 1) + opponent}"


def test_tag_equals_its_file(corpus: Path) -> None:
    # The file prints sixths to twelve digits; its start, 841 equal numbers, is exact once rescaled.
    assert_same_as_file(tag(), corpus / "tag_avoid.pomdp", tolerance=Fraction(1, 10**12))


def test_the_rules_depart_from_the_file_in_four_positions_only() -> None:
    ours, theirs = moves(tag(slips=False)), moves(tag())
    assert {s for s, a in ours if ours[s, a] != theirs[s, a]} == {
        state(19, 19),
        state(25, 23),
        state(27, 24),
        state(27, 27),
    }
    assert earnings(tag(slips=False)) == earnings(tag())


def _opponent(ends: dict[str, Fraction]) -> dict[int, Fraction]:
    return {int(end[1:]) % (CELLS + 1): p for end, p in ends.items()}


def test_the_opponent_heeds_where_the_robot_stood_not_where_it_goes() -> None:
    follow = moves(tag())
    for robot in range(CELLS):
        for opponent in range(CELLS):
            flights = [_opponent(follow[state(robot, opponent), move]) for move in MOVES]
            assert all(flight == flights[0] for flight in flights)


@pytest.mark.parametrize("evasion", [0, Fraction(1, 3), Fraction(4, 5), 1])
def test_the_opponent_never_steps_towards_a_robot_that_is_not_level(evasion: Fraction) -> None:
    follow = moves(tag(evasion=evasion, slips=False))
    # Robot in the south-western corner, opponent in the middle of the junction: north or east only.
    flight = _opponent(follow[state(0, 15), "South"])
    expected = {15: 1 - evasion, 16: evasion / 2, 20: evasion / 2}
    assert flight == {cell: p for cell, p in expected.items() if p}
    # On the same cell, all four ways alike.
    flight = _opponent(follow[state(16, 16), "South"])
    expected = {16: 1 - evasion} | dict.fromkeys((6, 15, 17, 21), Fraction(evasion) / 4)
    assert flight == {cell: p for cell, p in expected.items() if p}


def test_catching() -> None:
    follow, earned = moves(tag()), earnings(tag())
    for robot in range(CELLS):
        assert follow[state(robot, robot), "Catch"] == {state(robot, TAGGED): 1}
        assert earned[state(robot, robot), "Catch"] == 10
        assert earned[state(robot, TAGGED), "Catch"] == 0
        missed = state(robot, (robot + 1) % CELLS)
        assert follow[missed, "Catch"] == {missed: 1}
        assert earned[missed, "Catch"] == -10


def test_the_robot_sees_its_cell_or_the_opponent() -> None:
    look = emissions(tag(), "North")
    for robot in range(CELLS):
        for opponent in range(CELLS + 1):
            seen = "yes" if opponent == robot else f"o{robot}"
            assert look[state(robot, opponent)] == {seen: 1}


def test_evasion_is_a_probability() -> None:
    with pytest.raises(ValueError, match="evasion is 7"):
        tag(evasion=7)


def test_a_larger_board_has_the_same_shape() -> None:
    larger = tag(scale=2)
    assert len(larger.states) == 116 * 117
    assert len(larger.observations) == 117
    plain, again = tag(slips=False), tag(scale=1, slips=False)
    assert plain.digest == again.digest
    with pytest.raises(ValueError, match="scale is 0"):
        tag(scale=0)
    with pytest.raises(ValueError, match="the states for scale=20000 need more than half of"):
        tag(scale=20_000)
