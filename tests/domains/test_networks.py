from fractions import Fraction
from pathlib import Path

import pytest
from tests.domains.compare import assert_same_as_file
from tests.domains.laws import earnings, emissions, moves

from rpsr.domains.networks import network

LEVELS = [1, 4, 10, 20, 25, 50, 100]


@pytest.mark.parametrize("file", ["network.POMDP", "network.95.POMDP"])
def test_network_equals_its_files(corpus: Path, file: str) -> None:
    # Everything is exact in the files but one reward, 40, which they print as 40.000004.
    assert_same_as_file(network(), corpus / file, tolerance=Fraction(4, 10**6))


@pytest.mark.parametrize("level", LEVELS)
def test_networks_of_other_grains(level: int) -> None:
    model = network(level=level)
    follow = moves(model)
    assert len(model.states) == 100 // level + 2
    for state in model.states:
        assert follow[state, "reboot"] == {"s000": 1}
    for action in ("unrestrict", "steady", "restrict"):
        assert follow["crash", action] == {"crash": 1}


@pytest.mark.parametrize("level", LEVELS)
def test_the_higher_the_load_the_nearer_the_crash(level: int) -> None:
    follow, look = moves(network(level=level)), emissions(network(level=level), "steady")
    loads = [f"s{load:03d}" for load in range(0, 101, level)]
    for action in ("unrestrict", "steady", "restrict"):
        risks = [follow[load, action].get("crash", Fraction(0)) for load in loads]
        assert risks == sorted(risks)
        assert risks[-1] > 0
    failures = [look[load].get("down", Fraction(0)) for load in loads]
    assert failures == sorted(failures)
    assert failures[-1] == Fraction(1, 2)
    assert look["crash"] == {"down": 1}


def test_rewards_are_the_load_less_running_costs() -> None:
    earned = earnings(network())
    assert [earned[f"s{load:03d}", "steady"] for load in range(0, 101, 20)] == [
        load - 20 for load in range(0, 101, 20)
    ]
    assert earned["crash", "restrict"] == -20
    assert earned["s080", "reboot"] == earned["crash", "reboot"] == -40


@pytest.mark.parametrize("level", [0, -20, 30, 200, 12.5])
def test_levels_divide_the_scale(level: int) -> None:
    with pytest.raises(ValueError, match="level is"):
        network(level=level)
