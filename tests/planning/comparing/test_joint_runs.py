"""A policy walked along all histories: rare observations count."""

from fractions import Fraction

import pytest
from tests.planning.lottery import lottery, value_of_lottery

from rpsr.planning import policy_value, solve


@pytest.mark.parametrize("rare", [Fraction(1, 10**3), Fraction(1, 10**9)])
def test_a_rare_observation_decides_a_policys_value(rare):
    pomdp, exact = lottery(rare), value_of_lottery(rare)
    low, high = policy_value(solve(pomdp, "vi").policy(), pomdp)
    assert low == pytest.approx(float(exact), rel=1e-12)
    assert high == pytest.approx(float(exact), rel=1e-12)
    assert exact > 1000
