from fractions import Fraction
from pathlib import Path

import pytest
from tests.domains.compare import assert_same_as_file
from tests.domains.laws import earnings, emissions, moves, named_outcomes

from rpsr.domains.factory import paint

SOUND, SHIPPABLE, COVERED_UP, BLEMISHED = paint().states


def test_paint_equals_its_file(corpus: Path) -> None:
    assert_same_as_file(paint(), corpus / "paint.95.POMDP", tolerance=0)


def test_names_follow_from_flaw_and_paint() -> None:
    names = (SOUND, SHIPPABLE, COVERED_UP, BLEMISHED)
    assert names == ("NFL-NBL-NPA", "NFL-NBL-PA", "FL-NBL-PA", "FL-BL-NPA")


def test_no_inspection_finds_what_paint_has_covered() -> None:
    seen = emissions(paint(), "inspect")
    assert seen[COVERED_UP] == seen[SHIPPABLE] == seen[SOUND]
    assert seen[BLEMISHED] == {"BL": Fraction(3, 4), "NBL": Fraction(1, 4)}


def test_only_an_inspection_reports_blemishes() -> None:
    assert {a for a, _, _, seen in named_outcomes(paint()) if seen == "BL"} == {"inspect"}


def test_paint_never_mends_a_flaw_nor_comes_off() -> None:
    for (part, action), ahead in moves(paint()).items():
        if action == "paint":
            assert {p.startswith("FL") for p in ahead} == {part.startswith("FL")}
            if not part.endswith("NPA"):
                assert ahead == {part: 1}


@pytest.mark.parametrize("coverage", [0, Fraction(1, 3), 1])
def test_coverage_is_how_often_painting_takes(coverage: Fraction | int) -> None:
    ahead = moves(paint(coverage=coverage))[BLEMISHED, "paint"]
    assert ahead.get(COVERED_UP, 0) == coverage


def test_the_pay_of_shipping_and_rejecting() -> None:
    earned = earnings(paint())
    parts = (SOUND, SHIPPABLE, COVERED_UP, BLEMISHED)
    assert [earned[part, "ship"] for part in parts] == [-1, 1, -1, -1]
    assert [earned[part, "reject"] for part in parts] == [-1, -1, 0, 1]


@pytest.mark.parametrize("name", ["coverage", "accuracy", "discount"])
def test_parameters_are_probabilities(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is -1"):
        paint(**{name: -1})
