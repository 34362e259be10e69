from fractions import Fraction
from math import sqrt

import pytest
from tests.domains.laws import earnings, emissions, moves, steps_from_start

from rpsr.domains import chances
from rpsr.domains.rocks import rock_sample

SIZES = [(1, 1), (2, 4), (3, 1), (3, 2), (3, 5), (4, 4), (5, 3), (6, 2), (11, 1)]


@pytest.mark.parametrize(("n", "k"), SIZES)
def test_every_size_is_a_model(n: int, k: int) -> None:
    model = rock_sample(n=n, k=k)
    assert len(model.states) == len(set(model.states)) == n * n * 2**k + 1
    assert model.actions == (
        *("north", "east", "south", "west"),
        *(f"check{rock}" for rock in range(k)),
        "sample",
    )
    assert model.absorbing.tolist() == [False] * (n * n * 2**k) + [True]
    assert sorted(set(model.start.tolist())) == [0, 2**-k]
    assert set(steps_from_start(model)) == set(model.states)  # hence no two rocks share a cell


def test_published_maps() -> None:
    assert len(rock_sample(n=5, k=5).states) == 801
    assert len(rock_sample(n=5, k=7).states) == 3201
    earned = earnings(rock_sample())
    rocks = {
        cell
        for (state, action), pay in earned.items()
        if action == "sample" and pay in (10, -10)
        for cell in [state.split("-")[0]]
    }
    assert rocks == {"x3y1", "x2y1", "x1y3", "x1y0"}
    # Efficiency falls as e^-d on this one map: one step away, (1 + 1/e) / 2 is 0.68394.
    assert emissions(rock_sample(), "check0")["x2y1-gggg"]["good"] == Fraction(683940, 10**6)


@pytest.mark.parametrize("half_distance", [1, 4.5, 20])
def test_the_sensor_halves_its_efficiency_over_the_half_distance(half_distance: float) -> None:
    n = 5
    model = rock_sample(n=n, k=2, rocks=[(0, 0), (3, 4)], half_distance=half_distance)
    look = emissions(model, "check1")
    for x in range(n):
        for y in range(n):
            efficiency = 2 ** (-sqrt((x - 3) ** 2 + (y - 4) ** 2) / half_distance)
            good, bad = look[f"x{x}y{y}-bg"], look[f"x{x}y{y}-gb"]
            assert float(good["good"]) == pytest.approx((1 + efficiency) / 2, abs=0.5e-6)
            assert good["good"] == bad["bad"]
            assert good["good"].denominator <= 10**6


@pytest.mark.parametrize("start", [(2, 1), "x2y1"])
def test_the_rover_starts_on_the_cell_that_is_given(start: tuple[int, int] | str) -> None:
    model, usual = rock_sample(n=3, k=2, start=start), rock_sample(n=3, k=2)
    chances = dict(zip(model.states, model.start.tolist(), strict=True))
    assert {state for state, chance in chances.items() if chance} == {
        f"x2y1-{worth}" for worth in ("gg", "gb", "bg", "bb")
    }
    assert set(chances.values()) == {0, 0.25}
    assert moves(model) == moves(usual)
    assert rock_sample(n=3, k=2, start=(0, 1)) == usual


def test_sampling_spoils_the_rock_and_nothing_else() -> None:
    model = rock_sample(n=3, k=2, rocks=[(1, 1), (2, 0)])
    follow, earned = moves(model), earnings(model)
    assert follow["x1y1-gg", "sample"] == {"x1y1-bg": 1}
    assert follow["x1y1-bg", "sample"] == {"x1y1-bg": 1}
    assert follow["x2y0-gg", "sample"] == {"x2y0-gb": 1}
    assert earned["x1y1-gb", "sample"] == 10
    assert earned["x1y1-bg", "sample"] == -10
    assert follow["x0y0-gg", "sample"] == {"gone": 1}
    assert earned["x0y0-gg", "sample"] == -100


@pytest.mark.parametrize("n", [1, 3, 4])
def test_the_only_good_way_out_is_east(n: int) -> None:
    model = rock_sample(n=n, k=1)
    follow, earned = moves(model), earnings(model)
    for state in model.states[:-1]:
        for action in ("north", "east", "south", "west"):
            leaves = follow[state, action] == {"gone": 1}
            pay = {"east": 10}.get(action, -100) if leaves else 0
            assert earned[state, action] == pay
    assert sum(follow[state, "east"] == {"gone": 1} for state in model.states[:-1]) == 2 * n
    assert all(earned["gone", action] == 0 for action in model.actions)


def test_parameters_are_checked() -> None:
    with pytest.raises(ValueError, match="n is 0"):
        rock_sample(n=0)
    with pytest.raises(ValueError, match="k is 0"):
        rock_sample(k=0)
    with pytest.raises(ValueError, match="has only 4 cells for rocks"):
        rock_sample(n=2, k=5)
    with pytest.raises(
        ValueError, match="1 of them different, but must have k = 2 different cells"
    ):
        rock_sample(n=3, k=2, rocks=[(0, 0), (0, 0)])
    with pytest.raises(
        ValueError, match=r"\(3, 0\), which is outside the grid: its coordinates are 0 to 2"
    ):
        rock_sample(n=3, k=1, rocks=[(3, 0)])
    with pytest.raises(ValueError, match=r"start is \(0, 3\), which is outside the grid"):
        rock_sample(n=3, k=1, start=(0, 3))
    with pytest.raises(ValueError, match="start is 'x-1y0', but must be a cell such as x0y1"):
        rock_sample(n=3, k=1, start="x-1y0")
    with pytest.raises(ValueError, match=r"start is \(0,\), but must be a cell"):
        rock_sample(n=3, k=1, start=(0,))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="half_distance is 0"):
        rock_sample(half_distance=0)
    with pytest.raises(ValueError, match="the states for n=300, k=20000 need more than"):
        rock_sample(n=300, k=20000)


def test_a_size_is_refused_by_the_memory_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chances, "machine_memory", lambda: 2.0 * 400 * 17 * 7)
    assert len(rock_sample(n=2, k=2).states) == 17
    with pytest.raises(ValueError, match="the states for n=3, k=2 need more than half of"):
        rock_sample(n=3, k=2)
