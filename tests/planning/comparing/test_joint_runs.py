"""A policy walked along all histories: rare observations count."""

from fractions import Fraction

import pytest

from rpsr.domains import tabulate
from rpsr.planning import policy_value, solve

RARE = Fraction(1, 1000)


def lottery():
    """Every step shows nothing, except that with probability 1/1000 a jackpot begins.

    It pays a million at every step from then on, and is seen. With discount 1/2, V = (RARE J +
    (1 - RARE) V) / 2 with J = 2 * 10^6.
    """
    return tabulate(
        name="lottery",
        states=("poor", "rich"),
        actions=("wait",),
        observations=("nothing", "jackpot"),
        start={"poor": 1},
        transition=lambda state, _: (
            {"poor": 1 - RARE, "rich": RARE} if state == "poor" else {"rich": 1}
        ),
        emission=lambda _, state: {"nothing" if state == "poor" else "jackpot": 1},
        reward=lambda state, *_: 10**6 if state == "rich" else 0,
        discount=Fraction(1, 2),
    )


def test_a_rare_observation_decides_a_policys_value():
    pomdp = lottery()
    jackpot = 2 * 10**6
    exact = RARE * jackpot / 2 / (1 - (1 - RARE) / 2)
    low, high = policy_value(solve(pomdp, "vi").policy(), pomdp)
    assert low == pytest.approx(float(exact), rel=1e-12)
    assert high == pytest.approx(float(exact), rel=1e-12)
    assert exact > 1000
