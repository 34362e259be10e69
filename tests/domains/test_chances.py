from fractions import Fraction

import numpy as np
import pytest

from rpsr.domains.chances import at_least, evenly, exact, lottery, probability


@pytest.mark.parametrize("value", [0.85, Fraction(17, 20), np.float64(0.85)])
def test_a_float_means_the_decimal_it_prints_as(value: float) -> None:
    assert exact("accuracy", value) == Fraction(17, 20)


@pytest.mark.parametrize("value", [-1, 1.5, float("nan"), float("inf")])
def test_probability_refuses_what_is_none(value: float) -> None:
    with pytest.raises(ValueError, match="accuracy is"):
        probability("accuracy", value)


@pytest.mark.parametrize("value", [2, 3.5])
def test_at_least_refuses_too_few_and_halves(value: float) -> None:
    with pytest.raises(ValueError, match=r"cells is .* two ends"):
        at_least("cells", value, 3, "two ends")  # pyright: ignore[reportArgumentType]


def test_lottery_adds_equal_outcomes_and_drops_impossible_ones() -> None:
    tickets = [("a", Fraction(1, 4)), ("b", 0), ("a", Fraction(1, 4)), ("c", Fraction(1, 2))]
    assert lottery(tickets) == {"a": Fraction(1, 2), "c": Fraction(1, 2)}


def test_evenly_shares_among_outcomes_also_when_one_comes_twice() -> None:
    assert evenly("aab") == {"a": Fraction(2, 3), "b": Fraction(1, 3)}
