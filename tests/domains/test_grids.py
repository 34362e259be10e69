from fractions import Fraction
from pathlib import Path

import pytest
from tests.domains.compare import assert_same_as_file
from tests.domains.laws import emissions, mirrored, moves, named_outcomes, steps_from_start

from rpsr.domains.grids import cheese, grid
from rpsr.models import POMDP

SHAPES = [(1, 2), (2, 1), (2, 2), (3, 5), (4, 4), (6, 2)]


def test_grid_equals_its_file(corpus: Path) -> None:
    # The file prints fifteenths to six digits; fifteen equal numbers are exact once rescaled.
    assert_same_as_file(grid(), corpus / "4x4.95.POMDP", tolerance=0)


def test_cheese_equals_its_file(corpus: Path) -> None:
    assert_same_as_file(cheese(), corpus / "cheese.95.POMDP", tolerance=0)


@pytest.mark.parametrize(("rows", "columns"), SHAPES)
def test_south_and_east_lead_to_the_goal_from_anywhere(rows: int, columns: int) -> None:
    model = grid(rows=rows, columns=columns)
    follow = moves(model)
    assert len(model.states) == rows * columns
    for start in model.states[:-1]:
        state = start
        for action in ["S0"] * (rows - 1) + ["E0"] * (columns - 1):
            if state != "goal":
                [state] = follow[state, action]
        assert state == "goal"


@pytest.mark.parametrize("side", [2, 3, 4, 5])
def test_a_square_grid_is_its_own_transpose(side: int) -> None:
    model = grid(rows=side, columns=side)
    flip = {f"r{i}c{j}": f"r{j}c{i}" for i in range(side) for j in range(i)}
    outcomes = named_outcomes(model)
    assert mirrored(outcomes, flip | {"N0": "W0", "S0": "E0"}) == outcomes


@pytest.mark.parametrize("depth", [1, 2, 3, 7])
def test_the_maze_is_its_own_mirror_image(depth: int) -> None:
    model = cheese(depth=depth)
    cells = [(0, column) for column in range(2)] + [(row, 0) for row in range(1, depth + 1)]
    flip = {f"r{row}c{column}": f"r{row}c{4 - column}" for row, column in cells}
    flip |= {"E0": "W0", "walls-NW": "walls-NE"}
    outcomes = named_outcomes(model)
    assert mirrored(outcomes, flip) == outcomes
    assert len(model.states) == 5 + 3 * depth


@pytest.mark.parametrize("depth", [2, 5])
def test_alleys_look_alike_inside(depth: int) -> None:
    look = emissions(cheese(depth=depth), "N0")
    inside = [look[f"r{row}c{column}"] for row in range(1, depth) for column in (0, 2, 4)]
    assert inside == [{"walls-EW": Fraction(1)}] * len(inside)


@pytest.mark.parametrize("model", [grid(), cheese(), grid(rows=2, columns=7), cheese(depth=1)])
def test_only_arriving_pays(model: POMDP) -> None:
    paid = {
        (end, seen, pay) for (_, _, end, seen), (_, pay) in named_outcomes(model).items() if pay
    }
    assert paid == {("goal", "goal", 1)}
    assert set(moves(model)["goal", "N0"].values()) == {Fraction(1, len(model.states) - 1)}
    assert steps_from_start(model)["goal"] == 1


def test_parameters_are_checked() -> None:
    with pytest.raises(ValueError, match="rows is 0"):
        grid(rows=0)
    with pytest.raises(ValueError, match="besides the goal"):
        grid(rows=1, columns=1)
    with pytest.raises(ValueError, match="depth is 0"):
        cheese(depth=0)
    with pytest.raises(ValueError, match=r"discount is 1\.5"):
        cheese(discount=1.5)
