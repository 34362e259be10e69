"""How many steps are enough, and what those that are cut off could have earned."""

from fractions import Fraction

import numpy as np
import pytest

from rpsr.domains import build
from rpsr.evaluation import StochasticController, evaluate, exact_return
from rpsr.evaluation.truncation import MOST_STEPS, cut_off, enough_steps
from rpsr.models import POMDP
from rpsr.planning import Reachable, solve
from rpsr.planning.value.policies import StagedPolicy
from rpsr.predictive import psr, rpsr


def models_of(pomdp: POMDP):
    return {"pomdp": pomdp.belief_model(), "psr": psr(pomdp), "rpsr": rpsr(pomdp)}


@pytest.mark.parametrize("name", ["heavenhell", "loadunload", "parr", "paint", "network"])
def test_what_is_cut_off_by_default_is_less_than_the_standard_error(name):
    pomdp = build(name)
    policy = StochasticController.stationary(pomdp)
    for row in evaluate(pomdp, policy, models=models_of(pomdp), episodes=200):
        assert row.steps < MOST_STEPS
        assert row.cut_off <= max(row.stderr, 1e-6 * row.cut_off / pomdp.discount**row.steps)
        if row.model == "pomdp":  # the others' rewards are not the system's
            infinite = exact_return(pomdp, policy)
            assert abs(row.exact - infinite) <= row.cut_off
            assert abs(row.mean - infinite) <= 5 * row.stderr + row.cut_off


@pytest.mark.parametrize("steps", [1, 10, 100, 300])
def test_the_bound_is_met_by_a_constant_reward(steps):
    one = POMDP.from_arrays(np.ones((1, 1, 1)), np.ones((1, 1, 1)), [[-3.0]], discount=0.99)
    tail = 3 * Fraction(99, 100) ** steps * 100
    assert cut_off(one.belief_model(), 0.99, steps) == pytest.approx(float(tail), rel=1e-12)
    policy = StochasticController.stationary(one)
    (row,) = evaluate(one, policy, models={"m": one.belief_model()}, episodes=2, steps=steps)
    assert row.mean - row.cut_off == pytest.approx(-300, rel=1e-12)


def test_returns_without_spread_end_somewhere():
    one = POMDP.from_arrays(np.ones((1, 1, 1)), np.ones((1, 1, 1)), [[1.0]], discount=0.99)
    policy, models = StochasticController.stationary(one), {"m": one.belief_model()}
    assert enough_steps(one, policy, models, episodes=10) == 1375  # 0.99^1375 < 1e-6
    assert enough_steps(one.with_discount("0.9999"), policy, models, episodes=10) == MOST_STEPS
    assert enough_steps(one.with_discount(0), policy, models, episodes=10) == 1
    assert enough_steps(one.with_discount(1), policy, models, episodes=10) == 100


def test_more_episodes_want_more_steps():
    pomdp = build("heavenhell")
    policy, models = StochasticController.stationary(pomdp), {"pomdp": pomdp.belief_model()}
    counts = [enough_steps(pomdp, policy, models, episodes=n) for n in (10, 1000, 100_000)]
    assert counts == sorted(set(counts))


def test_a_plan_for_a_horizon_is_followed_to_its_end():
    pomdp = build("tiger")
    plan = StagedPolicy.of(solve(pomdp, Reachable(horizon=4)))
    (row,) = evaluate(pomdp, plan, models={"pomdp": pomdp.belief_model()}, episodes=20)
    assert (row.steps, row.cut_off) == (4, 0.0)
    (row,) = evaluate(pomdp, plan, models={"pomdp": pomdp.belief_model()}, episodes=20, steps=3)
    assert row.cut_off == pytest.approx(100 * 0.95**3, rel=1e-12)


def test_without_a_bound_on_rewards_there_is_none_on_what_is_cut_off():
    pomdp = build("tiger")
    assert cut_off(pomdp.belief_model(), None, 10) is None
    assert cut_off(pomdp.belief_model(), 1.0, 10) is None
