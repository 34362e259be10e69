from fractions import Fraction
from pathlib import Path

import pytest
from tests.domains.compare import assert_same_as_file
from tests.domains.laws import moves, named_outcomes

from rpsr.domains.drift import float_reset


def test_float_reset_equals_its_file(corpus: Path) -> None:
    assert_same_as_file(float_reset(), corpus / "floatreset.pomdp", tolerance=0)


@pytest.mark.parametrize("positions", range(2, 13))
def test_the_light_answers_a_reset_at_home_and_nothing_else(positions: int) -> None:
    outcomes = named_outcomes(float_reset(positions=positions))
    assert [key for key in outcomes if key[3] == "1"] == [("r", "0", "0", "1")]


@pytest.mark.parametrize("positions", range(2, 13))
def test_floating_alone_leaves_every_position_equally_likely(positions: int) -> None:
    """The drift is symmetric, so the uniform distribution stays as it is."""
    follow = moves(float_reset(positions=positions))
    for here in map(str, range(positions)):
        arriving = sum(follow[there, "f"].get(here, 0) for there in map(str, range(positions)))
        assert arriving == 1


def test_a_reset_pays_the_position_reached() -> None:
    outcomes = named_outcomes(float_reset(positions=7))
    paid = {s: pay for (a, s, _, _), (_, pay) in outcomes.items() if a == "r"}
    assert paid == {str(k): Fraction(k) for k in range(7)}
    assert not any(pay for (a, *_), (_, pay) in outcomes.items() if a == "f")


def test_one_position_is_too_few() -> None:
    with pytest.raises(ValueError, match="positions is 1"):
        float_reset(positions=1)
