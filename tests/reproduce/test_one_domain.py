"""Estimates and the paper's experiment, against closed forms."""

import json

import numpy as np
import pytest

from rpsr import InputError
from rpsr.domains import build
from rpsr.evaluation import Estimate, StochasticController, evaluate
from rpsr.planning import SARSOP, Reachable, UniformPolicy, ValueIteration
from rpsr.predictive import psr, rpsr
from rpsr.reproduce import PAPER_DOMAINS, Experiment, experiment, paper_domain
from rpsr.reproduce.one_domain import MODELS, POLICIES

STEPS = 100
GEOMETRIC = (1 - 0.95**STEPS) / 0.05  # the return of one reward per step


# ---- estimates


def test_an_estimate_is_mean_spread_and_error():
    row = Estimate.of(np.array([1.0, 2.0, 6.0]), "p", "m", 10, exact=4.0)
    assert (row.mean, row.episodes, row.steps) == (3.0, 3, 10)
    assert row.std == pytest.approx(7**0.5)
    assert row.stderr == pytest.approx((7 / 3) ** 0.5)
    assert row.deviation == pytest.approx(-1 / (7 / 3) ** 0.5)
    single = Estimate.of(np.array([1.0]), "p", "m", 10)
    assert (single.std, single.stderr, single.deviation) == (None, None, None)


def test_returns_that_are_all_alike_deviate_by_rounding_only():
    noisy = 4.0 + 4.4e-16 * np.array([0, 1, 0, 1, 1])
    assert Estimate.of(noisy, "p", "m", 10, exact=4.0).deviation == 0
    assert Estimate.of(noisy, "p", "m", 10, exact=3.9).deviation > 1e6


def test_evaluating_by_every_model():
    pomdp = build("loadunload")
    models = {"pomdp": pomdp.belief_model(), "psr": psr(pomdp), "rpsr": rpsr(pomdp)}
    policy = UniformPolicy(models["pomdp"], np.random.default_rng(0))
    true, wrong, ours = evaluate(pomdp, policy, models=models, episodes=500, steps=50, seed=1)
    assert [e.policy for e in (true, wrong, ours)] == ["uniform"] * 3
    assert [e.model for e in (true, wrong, ours)] == ["pomdp", "psr", "rpsr"]
    assert ours.mean == pytest.approx(true.mean, abs=1e-12)
    assert ours.exact == pytest.approx(true.exact, abs=1e-12)
    assert wrong.exact > 2 * true.exact
    assert max(abs(e.deviation) for e in (true, wrong, ours)) < 4
    with pytest.raises(InputError, match="at least one"):
        evaluate(pomdp, policy, models={})


def test_a_system_without_discount_is_summed_as_it_is():
    pomdp = build("tiger").with_discount(None)
    listen = StochasticController.stationary(pomdp, [1.0, 0.0, 0.0])
    (row,) = evaluate(
        pomdp, {"listen": listen}, models={"pomdp": pomdp.belief_model()}, episodes=3, steps=7
    )
    assert (row.policy, row.mean, row.std, row.exact) == ("listen", -7.0, 0.0, -7.0)


# ---- the experiment


def test_the_authors_discounts():
    assert {name: paper_domain(name).discount for name in PAPER_DOMAINS} == dict.fromkeys(
        PAPER_DOMAINS, 0.95
    )
    assert build("heavenhell").discount == 0.99


@pytest.fixture(scope="module")
def line():
    return experiment(paper_domain("line4-2goals"), episodes=200, seed=3)


def test_the_psr_of_a_line_in_the_dark_sees_one_reward_everywhere(line):
    """Rank one: its reward is the mean of the four states', 0.8 / 4, whatever is done."""
    for policy in POLICIES:
        row = line.estimate(policy, "psr")
        assert row.exact == pytest.approx(0.2 * GEOMETRIC, abs=1e-12)
        assert row.mean == pytest.approx(0.2 * GEOMETRIC, abs=1e-12)
        assert row.deviation == 0


def test_the_experiment_is_complete_and_consistent(line):
    assert [(e.policy, e.model) for e in line.estimates] == [
        (policy, model) for policy in POLICIES for model in MODELS
    ]
    assert line.disagreement <= 1e-12
    assert line.same_episodes
    assert all(plan.status == "solved" for plan in line.plans)
    for policy in POLICIES:
        true, ours = line.estimate(policy, "pomdp"), line.estimate(policy, "rpsr")
        assert ours.exact == pytest.approx(true.exact, abs=1e-12)
        assert abs(true.deviation) < 4
    best = line.estimate("pomdp-vi", "pomdp").exact
    assert all(line.estimate(policy, "pomdp").exact <= best + 1e-9 for policy in POLICIES)
    # To its PSR every policy is optimal, so the range contains the infinite-horizon value of each.
    low, high = line.psr_range.least[0], line.psr_range.greatest[1]
    assert low <= line.estimate("uniform", "pomdp").exact <= high
    assert line.plans[0].value <= high + 1e-9
    with pytest.raises(InputError, match="no estimate"):
        line.estimate("qmdp", "pomdp")


def test_an_experiment_goes_through_json(line):
    text = json.dumps(line.to_document(), allow_nan=False)
    assert Experiment.from_document(json.loads(text)) == line
    with pytest.raises(InputError, match="not an experiment"):
        Experiment.from_document({"domain": "x"})


def test_another_planner_and_progress():
    reported = []
    result = experiment(
        build("parr"), planner=Reachable(), episodes=50, steps=20, progress=reported.append
    )
    assert {plan.planner for plan in result.plans} == {"reachable"}
    assert reported[0] == "models"
    assert reported[-1] == "the range of PSR-optimal policies"
    assert result.psr_range is not None
    again = experiment(build("parr"), planner=Reachable(), episodes=50, steps=20, workers=2)
    assert again == result


def test_a_plan_that_is_not_proven_has_no_range():
    planner = ValueIteration(epsilon=1e-9, max_iterations=1)
    result = experiment(build("stand-tiger"), planner=planner, episodes=10, steps=5)
    assert [plan.status for plan in result.plans] == ["iterations"] * 3
    assert result.psr_range is None


def test_an_unfinished_plan_is_followed_as_its_controller():
    """Its exact value over many steps is that of the plan's lower bound, not a look-ahead's."""
    planner = SARSOP(epsilon=1e-9, max_iterations=2)
    result = experiment(build("4x3"), planner=planner, episodes=10, steps=400)
    (plan,) = [plan for plan in result.plans if plan.model == "pomdp"]
    exact = result.estimate("pomdp-vi", "pomdp").exact
    assert plan.status == "iterations"
    assert exact is not None  # a look-ahead would reach too many beliefs
    assert plan.lower - 1e-6 <= exact <= plan.upper
