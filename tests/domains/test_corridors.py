from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from tests.domains.compare import assert_same_as_file
from tests.domains.laws import earnings, mirrored, moves, named_outcomes

from rpsr.domains.corridors import corridor, line_two_goals, load_unload
from rpsr.models import POMDP

SIZES = range(3, 13)


def test_load_unload_equals_its_file(corpus: Path) -> None:
    assert_same_as_file(load_unload(), corpus / "loadunload.pomdp", tolerance=0)


@pytest.mark.parametrize(
    ("model", "file"),
    [
        (line_two_goals(), "line4-2goals.POMDP"),
        (line_two_goals(discount=0.95), "line4-2goals.95.POMDP"),
    ],
)
def test_line_two_goals_equals_its_files(corpus: Path, model: POMDP, file: str) -> None:
    assert_same_as_file(model, corpus / file, tolerance=0)


@pytest.mark.parametrize(
    ("model", "file"),
    [
        (corridor(), "1d.POMDP"),
        (corridor(slip=0.1, start_at_goal=False), "1d.noisy.POMDP"),
    ],
)
def test_corridor_equals_its_files(corpus: Path, model: POMDP, file: str) -> None:
    # The files print thirds as .333333; a row of three equal numbers is three thirds exactly.
    assert_same_as_file(model, corpus / file, tolerance=0)


@pytest.mark.parametrize("cells", SIZES)
def test_a_round_trip_earns_two_rewards(cells: int) -> None:
    model = load_unload(cells=cells)
    follow, earned = moves(model), earnings(model)
    state, pay = "empty-0", Fraction(0)
    for action in ["right"] * (cells - 1) + ["left"] * (cells - 1):
        pay += earned[state, action]
        [state] = follow[state, action]
    assert (state, pay) == ("empty-0", 2)
    assert len(model.states) == 2 * cells


@pytest.mark.parametrize("cells", SIZES)
def test_only_rewards_tell_the_load_at_the_ends(cells: int) -> None:
    model = load_unload(cells=cells)
    follow, earned = moves(model), earnings(model)
    for end in (0, cells - 1):
        for action in model.actions:
            assert follow[f"loaded-{end}", action] == follow[f"empty-{end}", action]
            assert earned[f"loaded-{end}", action] + earned[f"empty-{end}", action] == 1


@pytest.mark.parametrize("cells", SIZES)
def test_the_line_is_its_own_mirror_image(cells: int) -> None:
    model = line_two_goals(cells=cells)
    flip = dict(zip(model.states, reversed(model.states), strict=True)) | {"left": "right"}
    outcomes = named_outcomes(model)
    assert mirrored(outcomes, flip) == outcomes
    assert model.absorbing.tolist() == [True] + [False] * (cells - 2) + [True]


def test_slipping_into_a_goal_pays_nothing() -> None:
    outcomes = named_outcomes(line_two_goals())
    assert outcomes["left", "cell-1", "left-goal", "nothing"] == (Fraction(4, 5), 1)
    assert outcomes["right", "cell-1", "left-goal", "nothing"] == (Fraction(1, 10), 0)


@pytest.mark.parametrize("slip", [0, Fraction(1, 10), Fraction(1, 2), 1])
def test_a_slip_is_a_step_the_other_way(slip: Fraction | int) -> None:
    follow, reverse = moves(corridor(slip=slip)), moves(corridor(slip=1 - slip))
    for cell in ("left", "middle", "right"):
        assert follow[cell, "w0"] == reverse[cell, "e0"]


def test_corridor_pays_on_arrival_and_then_scatters() -> None:
    model = corridor(start_at_goal=False)
    assert [key for key, (_, pay) in named_outcomes(model).items() if pay] == [
        ("w0", "right", "goal", "goal"),
        ("e0", "middle", "goal", "goal"),
    ]
    assert moves(model)["goal", "w0"] == dict.fromkeys(("left", "middle", "right"), Fraction(1, 3))
    assert model.start.tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0])


@pytest.mark.parametrize("make", [load_unload, line_two_goals])
def test_two_cells_are_too_few(make: Callable[..., POMDP]) -> None:
    with pytest.raises(ValueError, match="cells is 2"):
        make(cells=2)


def test_a_slip_is_a_probability() -> None:
    with pytest.raises(ValueError, match="slip is 2"):
        line_two_goals(slip=2)
