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

from rpsr.domains.mazes import four_by_three, heaven_hell
from rpsr.models import POMDP


def test_four_by_three_equals_its_file(corpus: Path) -> None:
    # The file prints ninths as .111111 and .111112.
    assert_same_as_file(four_by_three(), corpus / "4x3.95.POMDP", tolerance=Fraction(1, 10**6))


@pytest.mark.parametrize(
    ("model", "file"),
    [
        (heaven_hell(), "heavenhell.pomdp"),
        (heaven_hell(discount=0.95), "heavenhell.95.pomdp"),
    ],
)
def test_heaven_hell_equals_its_files(corpus: Path, model: POMDP, file: str) -> None:
    assert_same_as_file(model, corpus / file, tolerance=0)


def test_the_misprint_is_one_number() -> None:
    printed, meant = moves(four_by_three()), moves(four_by_three(misprint=False))
    [differing] = [key for key in meant if printed[key] != meant[key]]
    assert differing == ("column-2-row-2", "e")
    assert printed[differing]["column-1-row-2"] == meant[differing]["column-2-row-2"]


def test_robots_move_to_neighbours_or_stay() -> None:
    model = four_by_three(misprint=False)
    for (cell, _), ahead in moves(model).items():
        if cell in ("column-3-row-0", "column-3-row-1"):
            assert ahead == {s: Fraction(1, 9) for s in ahead}
            assert not {"column-3-row-0", "column-3-row-1"} & ahead.keys()
        else:
            x, y = _place(cell)
            assert all(abs(x - u) + abs(y - v) <= 1 for u, v in map(_place, ahead))


def _place(cell: str) -> tuple[int, int]:
    _, x, _, y = cell.split("-")
    return int(x), int(y)


def test_without_drift_moves_are_certain() -> None:
    follow = moves(four_by_three(drift=0))
    assert follow["column-0-row-0", "e"] == {"column-1-row-0": 1}
    assert follow["column-0-row-1", "e"] == {"column-0-row-1": 1}  # the pillar


def test_step_pays_on_unmarked_cells_only() -> None:
    earned = earnings(four_by_three(step=-1.5))
    assert sorted(earned.values()) == sorted([Fraction(-3, 2)] * 36 + [Fraction(1)] * 4 + [-1] * 4)


def test_walls_are_felt_on_either_side() -> None:
    felt = {cell: next(iter(seen)) for cell, seen in emissions(four_by_three(), "n").items()}
    assert felt["column-0-row-1"] == "both"
    assert felt["column-2-row-1"] == "left"
    assert felt["column-3-row-2"] == "right"


def test_drifting_is_no_more_than_certain() -> None:
    with pytest.raises(ValueError, match=r"drift is 0\.6"):
        four_by_three(drift=0.6)


@pytest.mark.parametrize(
    ("stem", "arm", "aisle"), [(1, 1, 0), (2, 2, 2), (1, 4, 3), (5, 1, 1), (3, 6, 0)]
)
def test_ways_are_as_long_as_they_are_said_to_be(stem: int, arm: int, aisle: int) -> None:
    model = heaven_hell(stem=stem, arm=arm, aisle=aisle)
    steps = steps_from_start(model)
    assert len(steps) == len(model.states) == 2 * (1 + stem + 2 * arm + 1 + aisle)
    ends = [f"heaven-left-s{place}" for place in (stem + arm, stem + 2 * arm)]
    assert [steps[end] for end in ends] == [stem + arm] * 2
    assert [earnings(model)[end, "N"] for end in ends] == [1, -1]
    assert steps[model.states[-1]] == 1 + aisle  # the priest


@pytest.mark.parametrize("accuracy", [Fraction(1, 2), Fraction(4, 5), 1])
def test_only_the_priest_and_the_pay_tell_heaven(accuracy: Fraction | int) -> None:
    """A fair coin for a priest makes left and right the same but for what is paid at the ends."""
    model = heaven_hell(accuracy=accuracy)
    half = len(model.states) // 2
    swap = dict(zip(model.states[:half], model.states[half:], strict=True))
    outcomes = named_outcomes(model)
    swapped = mirrored(outcomes, swap)
    differing = {
        (s, t) for key in outcomes for _, s, t, _ in [key] if outcomes[key] != swapped.get(key)
    }
    ends = {"s4", "s6"}
    by_pay = {pair for pair in differing if pair[0].rsplit("-", 1)[1] in ends}
    assert len(by_pay) == 8  # four ends, two starts
    revealed = {t.rsplit("-", 1)[1] for _, t in differing - by_pay}
    assert revealed == (set() if accuracy == Fraction(1, 2) else {"s9"})


@pytest.mark.parametrize("name", ["stem", "arm", "aisle"])
def test_lengths_are_not_negative(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is -1"):
        heaven_hell(**{name: -1})
