from fractions import Fraction
from pathlib import Path

import pytest
from tests.domains.compare import assert_same_as_file
from tests.domains.laws import (
    earnings,
    emissions,
    mirrored,
    moves,
    named_outcomes,
    steps_from_start,
)

from rpsr.domains.radar import iff

SMALL = {"ranges": 4, "exposures": 3}


def test_iff_equals_its_file(corpus: Path) -> None:
    assert_same_as_file(iff(), corpus / "iff.POMDP", tolerance=0)


@pytest.mark.parametrize(("ranges", "exposures"), [(2, 1), (3, 8), (7, 2), (10, 5)])
def test_sizes(ranges: int, exposures: int) -> None:
    model = iff(ranges=ranges, exposures=exposures)
    assert len(model.states) == 4 + 2 * ranges * exposures
    assert len(model.observations) == 2 + 2 * ranges
    assert model.absorbing.tolist() == [True] * 4 + [False] * (2 * ranges * exposures)


def test_aircraft_come_nearer_one_step_at_a_time_and_never_turn_round() -> None:
    for (state, _), ahead in moves(iff(**SMALL)).items():
        for following in ahead:
            if "range" in state and "range" in following:
                side, _, distance, _, exposure = state.split("-")
                side_2, _, distance_2, _, exposure_2 = following.split("-")
                assert side == side_2
                assert int(distance) - int(distance_2) in (0, 1)
                assert abs(int(exposure) - int(exposure_2)) <= 1


def test_friend_and_foe_fly_and_read_alike_before_they_arrive() -> None:
    model = iff(**SMALL)
    names = [n for n in (*model.states, *model.observations) if n.startswith("friend")]
    swap = {name: name.replace("friend", "foe") for name in names}
    flying = {
        key: chance
        for key, (chance, _) in named_outcomes(model).items()
        if "range-0" not in key[1] and "-" in key[1]
    }
    exchanged = mirrored({key: (chance, chance) for key, chance in flying.items()}, swap)
    assert {key: chance for key, (chance, _) in exchanged.items()} == flying


def test_firing_at_point_blank_never_misses_and_pays_by_side() -> None:
    model = iff(**SMALL)
    follow, earned = moves(model), earnings(model)
    for side, pay in (("foe", 20), ("friend", -30)):
        for exposure in range(3):
            state = f"{side}-range-0-exposure-{exposure}"
            assert follow[state, "fire"] == {f"{side}-down": 1}
            assert earned[state, "fire"] == pay


def test_exposure_invites_strikes() -> None:
    model = iff(**SMALL)
    follow, earned = moves(model), earnings(model)
    struck = [follow[f"foe-range-0-exposure-{v}", "lie-low"]["base-struck"] for v in range(3)]
    assert struck == [Fraction(5, 20), Fraction(7, 20), Fraction(9, 20)]
    assert [earned[f"foe-range-0-exposure-{v}", "lie-low"] for v in range(3)] == [-25, -35, -45]
    assert follow["friend-range-0-exposure-2", "lie-low"] == {"passed": 1}


def test_the_active_sensor_tells_more_than_the_passive_one() -> None:
    model = iff(**SMALL)
    state = "foe-range-2-exposure-0"
    right = {a: emissions(model, a)[state]["foe-2"] for a in ("active-sensor", "passive-sensor")}
    assert right == {"active-sensor": Fraction(18, 25), "passive-sensor": Fraction(12, 25)}
    assert emissions(model, "fire") == emissions(model, "active-sensor")
    assert emissions(model, "lie-low")[state] == {"nothing": 1}


def test_every_state_can_come_about() -> None:
    assert steps_from_start(iff()).keys() == set(iff().states)


@pytest.mark.parametrize(("name", "value"), [("ranges", 1), ("exposures", 0), ("exposures", 9)])
def test_sizes_are_checked(name: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"{name} is {value}"):
        iff(**{name: value})
