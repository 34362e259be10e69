"""Epsilon: what it is by default, as a share, and where floats cannot prove it."""

from fractions import Fraction

import numpy as np
import pytest

from rpsr.domains import build
from rpsr.errors import InputError
from rpsr.planning import (
    HSVI,
    PBVI,
    QMDP,
    SARSOP,
    Enumeration,
    PolicyIteration,
    QLearning,
    Reachable,
    Relative,
    Status,
    ValueIteration,
    solve,
)
from rpsr.planning.precision import CLOSED, MERGED, PROVEN, Goal, goal_of
from rpsr.predictive import rpsr

TIGER = 19.371368374  # planner reachable, and the bounds of pomdpsol to eight digits
PROVING = (ValueIteration, PolicyIteration)
CLOSING = (HSVI, SARSOP)


def two_every_five_steps(discount: Fraction) -> Fraction:
    """What the best policy of parr earns."""
    return 2 * discount**4 / (1 - discount**5)


# ---- by default


@pytest.mark.parametrize("planner", [*PROVING, *CLOSING, Reachable])
@pytest.mark.parametrize("scale", [1e-6, 1, 1e7, 1e12])
def test_rewards_of_any_scale_are_planned_to_the_same_share(planner, scale):
    model = build("parr").belief_model()
    model = model.with_rewards(model.rewards * scale)
    plan = solve(model, planner())
    value = float(two_every_five_steps(Fraction(19, 20))) * scale
    share = CLOSED if planner in CLOSING else PROVEN
    wide = float(np.ptp(model.rewards)) / 0.05
    assert plan.status.reached_goal
    assert plan.lower <= value * (1 + 1e-15)
    assert value * (1 - 1e-15) <= plan.upper
    assert plan.gap <= 2 * share * wide


@pytest.mark.parametrize("planner", [*PROVING, *CLOSING])
def test_a_discount_near_one_is_planned_by_default(planner):
    discount = Fraction("0.9999")
    plan = solve(build("parr").with_discount(discount), planner())
    assert plan.status is Status.SOLVED
    assert plan.lower <= float(two_every_five_steps(discount)) <= plan.upper
    tiger = build("tiger").with_discount(discount)
    ours, others = solve(tiger, planner()), solve(tiger, SARSOP(epsilon=1e-2))
    assert max(ours.lower, others.lower) <= min(ours.upper, others.upper)


@pytest.mark.parametrize("planner", [*PROVING, Enumeration, *CLOSING, Reachable])
@pytest.mark.parametrize("reward", [0.0, -3.0])
def test_rewards_that_are_all_alike_have_a_precision(planner, reward):
    model = build("1d").belief_model()
    plan = solve(model.with_rewards(np.full_like(model.rewards, reward)), planner())
    assert plan.status.reached_goal
    assert plan.lower <= 4 * reward <= plan.upper
    assert plan.gap <= 1e-5


def test_the_default_is_a_share_of_the_range_of_values():
    model = build("tiger").belief_model()
    for default in (PROVEN, CLOSED, MERGED):
        assert goal_of(None, default, model, 20.0) == Goal(pytest.approx(default * 110 * 20))
    twin = goal_of(None, PROVEN, rpsr(build("tiger")), 20.0)
    assert twin.least == pytest.approx(PROVEN * 110 * 20)


# ---- what floats cannot prove


@pytest.mark.parametrize("epsilon", [1e-20, 1e-300, Relative(1e-30)])
@pytest.mark.parametrize(
    ("planner", "most"),
    [(ValueIteration, 1e-9), (PolicyIteration, 1e-9), (SARSOP, 1e-7), (HSVI, 1e-7)],
)
def test_what_floats_cannot_prove_is_proven_as_closely_as_they_can(planner, most, epsilon):
    plan = solve(build("tiger"), planner(epsilon=epsilon))
    assert plan.status is Status.ROUNDING
    assert plan.status.reached_goal
    assert plan.lower <= TIGER + 1e-9
    assert plan.upper >= TIGER - 1e-9
    assert 0 < plan.gap <= most
    if planner in PROVING:
        assert plan.gap / 4 <= plan.epsilon <= most


def test_enumeration_too():
    plan = solve(build("1d"), Enumeration(epsilon=1e-20))
    exact = solve(build("1d"), Reachable())
    assert plan.status is Status.ROUNDING
    assert plan.lower <= exact.upper
    assert exact.lower <= plan.upper
    assert plan.gap < 1e-11


# ---- shares of the value


@pytest.mark.parametrize(
    "planner", [*PROVING, Enumeration, *CLOSING, Reachable, PBVI, QMDP, QLearning]
)
@pytest.mark.parametrize("share", [0.1, 1e-4])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_share_is_one_of_the_value_at_the_start(planner, share, sign):
    model = build("1d").belief_model()  # worth 1.26
    shifted = model.with_rewards(model.rewards - (0 if sign > 0 else 2))
    plan = solve(shifted, planner(epsilon=Relative(share)))
    value = solve(shifted, Reachable()).value
    assert np.sign(value) == sign
    assert plan.lower <= value + 1e-9
    assert plan.upper >= value - 1e-9
    if plan.status is Status.SOLVED:
        proven = plan.gap if plan.epsilon is None else plan.epsilon
        assert proven <= share * abs(value) * (1 + 1e-9)
    else:
        assert planner in (PBVI, QMDP, QLearning, Reachable)


def test_a_share_of_nothing_is_one_of_the_range():
    goal = goal_of(Relative(0.01), CLOSED, build("tiger").belief_model(), 20.0)
    assert goal.at(-1.0, 1.0) == goal.at(0.0, 0.0) == pytest.approx(0.01 * 1e-6 * 2200)
    assert goal.at(50.0, 60.0) == pytest.approx(0.5)
    assert goal.at(-60.0, -50.0) == pytest.approx(0.5)
    assert goal.at(50.0, None) == pytest.approx(0.5)
    assert goal.guess(-1.0, 100.0) == pytest.approx(0.01)


@pytest.mark.parametrize("share", [0.0, -1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("planner", [*PROVING, *CLOSING, Enumeration, Reachable, PBVI, QLearning])
def test_a_share_must_be_one(planner, share):
    with pytest.raises(InputError, match=r"epsilon: read .*, expected a finite number above 0"):
        solve(build("1d"), planner(epsilon=Relative(share)))
