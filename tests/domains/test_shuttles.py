from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest
from tests.domains.compare import assert_same_as_file
from tests.domains.laws import earnings, emissions, moves, named_outcomes, steps_from_start

from rpsr.domains.shuttles import shuttle


def test_shuttle_equals_its_file(corpus: Path) -> None:
    assert_same_as_file(shuttle(), corpus / "shuttle.95.POMDP", tolerance=0)


def test_a_delivery_takes_three_flights_and_a_turn() -> None:
    follow, earned = moves(shuttle()), earnings(shuttle())
    route = [
        ("docked-MRV", "GoForward"),
        ("before-MRV-back-to-it", "GoForward"),
        ("space-facing-LRV", "GoForward"),
        ("before-LRV-facing-it", "TurnAround"),
        ("before-LRV-back-to-it", "Backup"),
    ]
    for (state, action), (end, _) in pairwise(route):
        assert follow[state, action] == {end: 1}
    assert follow[route[-1]]["docked-LRV"] == Fraction(7, 10)
    assert earned[route[-1]] == 7
    assert steps_from_start(shuttle())["docked-LRV"] == 4  # backing up from open space may dock too
    assert {key[:3] for key, (_, pay) in named_outcomes(shuttle()).items() if pay == 10} == {
        ("Backup", "before-LRV-back-to-it", "docked-LRV")
    }


def test_a_delivery_makes_the_station_the_one_most_recently_visited() -> None:
    follow = moves(shuttle())
    for action in shuttle().actions:
        assert follow["docked-LRV", action] == follow["docked-MRV", action]


def test_in_flight_the_stations_are_alike() -> None:
    follow = moves(shuttle())

    def other(state: str) -> str:
        return state.replace("LRV", "???").replace("MRV", "LRV").replace("???", "MRV")

    for (state, action), row in follow.items():
        if not state.startswith("docked"):
            assert follow[other(state), action] == {other(end): p for end, p in row.items()}


@pytest.mark.parametrize("visibility", [0, Fraction(1, 3), 1])
def test_stations_are_seen_from_space_with_the_given_chance(visibility: Fraction | int) -> None:
    look = emissions(shuttle(visibility=visibility), "GoForward")
    assert look["space-facing-MRV"].get("see-MRV", 0) == visibility
    assert look["before-MRV-facing-it"] == {"see-MRV": 1}
    assert look["before-LRV-back-to-it"] == {"nothing": 1}


def test_visibility_is_a_probability() -> None:
    with pytest.raises(ValueError, match="visibility is 2"):
        shuttle(visibility=2)
