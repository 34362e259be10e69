"""Certificates of plans: verified, as tight as the plan, and never above what is true."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from rpsr import POMDP, ModelError, certify, reach, solve, verify
from rpsr.certificates.exact_model import ExactModel
from rpsr.domains import build
from rpsr.planning import certifying
from rpsr.predictive import psr, rpsr


def proven(plan, pomdp, path):
    made = certify(plan, pomdp)
    made.save(path)
    verified = verify(pomdp, path, horizon=plan.horizon)
    assert verified.lower == Fraction(made.lower)
    assert verified.upper == (None if made.upper is None else Fraction(made.upper))
    return verified


@pytest.mark.parametrize("planner", ["sarsop", "hsvi", "vi", "pbvi", "perseus", "policy-iteration"])
@pytest.mark.parametrize("name", ["tiger", "parr", "shuttle"])
def test_certificates_are_as_tight_as_the_plan(tmp_path, planner, name):
    pomdp = build(name)
    plan = solve(pomdp, planner, time_limit=20)
    verified = proven(plan, pomdp, tmp_path / "c.json")
    allowed = 1e-9 if plan.gap is None else max(1e-9, 0.01 * plan.gap)
    assert verified.lower >= plan.lower - allowed
    assert verified.lower <= verified.upper
    if plan.upper is not None and planner in ("sarsop", "hsvi", "vi"):
        assert verified.upper <= plan.upper + allowed


def test_kept_points_are_what_the_certificate_is_made_of(tmp_path):
    pomdp = build("tiger")
    plan = solve(pomdp, "sarsop", keep_points=True)
    assert plan.points is not None
    assert proven(plan, pomdp, tmp_path / "c.json.gz").upper <= plan.upper


def test_bounds_hold_against_an_independent_value(tmp_path):
    """Tiger with discount 0: the first reward is the value. And with any: listening costs 1."""
    pomdp = build("tiger").with_discount(0)
    verified = proven(solve(pomdp, "sarsop"), pomdp, tmp_path / "c.json")
    assert verified.lower <= -1 <= verified.upper
    assert verified.upper - verified.lower < Fraction(1, 10**9)


def test_discount_0_needs_no_successors(tmp_path):
    """One state, whose observations matter to nobody: the best reward is the value."""
    rewards = [[1.0, -3.5, 3.0]]
    pomdp = POMDP.from_arrays(
        np.ones((3, 1, 1)), np.full((3, 1, 2), 0.5), rewards, [1.0], 0, exact=True
    )
    for planner in ("sarsop", "vi"):
        verified = proven(solve(pomdp, planner), pomdp, tmp_path / "c.json")
        assert verified.lower <= 3 <= verified.upper
        assert verified.upper - verified.lower < Fraction(1, 10**9)


@pytest.mark.parametrize("factor", [1e-18, 1e-40, 1e12])
def test_certificates_are_as_tight_in_any_unit_of_reward(tmp_path, factor):
    """Listening costs 1, doors pay 10 or -100; with discount 1/2, listening pays off."""
    hears = np.array([[[0.85, 0.15], [0.15, 0.85]], np.full((2, 2), 0.5), np.full((2, 2), 0.5)])
    moves = np.array([np.eye(2), np.full((2, 2), 0.5), np.full((2, 2), 0.5)])
    rewards = np.array([[-1.0, -100.0, 10.0], [-1.0, 10.0, -100.0]]) * factor
    pomdp = POMDP.from_arrays(moves, hears, rewards, [0.5, 0.5], 0.5)
    plan = solve(pomdp, "vi")
    verified = proven(plan, pomdp, tmp_path / "c.json")
    assert plan.lower != 0
    assert verified.upper - verified.lower < 1e-7 * abs(plan.lower)


def test_a_plan_that_a_limit_stopped_has_a_certificate(tmp_path):
    pomdp = build("hallway")
    plan = solve(pomdp, "sarsop", max_iterations=2, keep_points=True)
    verified = proven(plan, pomdp, tmp_path / "c.json.gz")
    assert verified.upper <= plan.upper + 0.01 * plan.gap


@pytest.mark.parametrize("name", ["parr", "loadunload"])  # as many dimensions as states, and fewer
def test_a_plan_on_the_r_psr_bounds_the_pomdp(tmp_path, name):
    pomdp = build(name)
    plan = solve(rpsr(pomdp), "sarsop")
    verified = proven(plan, pomdp, tmp_path / "c.json")
    assert verified.lower >= plan.lower - max(1e-9, 0.01 * plan.gap)


def test_the_lower_bound_is_that_of_the_plan_and_not_of_the_search_for_the_upper_one(monkeypatch):
    plan, search = solve(build("tiger"), "vi"), certifying._search

    def spoiled(*given):
        plan = search(*given)
        values = plan.value_function
        return replace(plan, value_function=replace(values, vectors=values.vectors - 100))

    monkeypatch.setattr(certifying, "_search", spoiled)
    assert certify(plan).lower == pytest.approx(plan.lower, abs=1e-6)


def test_a_model_in_floats_is_certified_too(tmp_path):
    rng = np.random.default_rng(0)
    transition, emission = rng.dirichlet(np.ones(3), (2, 3)), rng.dirichlet(np.ones(2), (2, 3))
    pomdp = POMDP.from_arrays(transition, emission, rng.normal(size=(3, 2)), None, 0.9)
    assert not pomdp.exact
    plan = solve(pomdp, "sarsop")
    verified = proven(plan, pomdp, tmp_path / "c.json")
    assert verified.upper - verified.lower <= 1.01 * plan.gap


def corridor(reward: float) -> POMDP:
    """Left or right from the middle, unseen; one end is the goal, the other ends without it.

    An attempt fails with probability 1/5. The best chance of the goal is 1.
    """
    goes = [[[0.2, 0.8, 0.0], [0, 1, 0], [0, 0, 1]], [[0.2, 0.0, 0.8], [0, 1, 0], [0, 0, 1]]]
    rewards = np.zeros((3, 2))
    rewards[0] = reward
    return POMDP.from_arrays(
        goes,
        np.ones((2, 3, 1)),
        rewards,
        [1.0, 0, 0],
        1,
        {"states": ["middle", "goal", "other"]},
        exact=True,
    )


def test_reaching_a_goal_without_a_discount_is_certified(tmp_path):
    task = reach("goal").task(corridor(0.0))
    verified = proven(solve(task, "sarsop"), task, tmp_path / "c.json")
    assert verified.lower <= 1 <= verified.upper
    assert verified.upper - verified.lower < Fraction(1, 10**6)


def test_costs_without_a_discount_are_bounded_where_every_policy_ends(tmp_path):
    """The sum of rewards until an attempt succeeds: -1 for each attempt, -5/4 in the mean."""
    pomdp = corridor(-1.0)
    verified = proven(solve(pomdp, "sarsop"), pomdp, tmp_path / "c.json")
    assert verified.lower <= Fraction(-5, 4) <= verified.upper
    assert verified.upper - verified.lower < Fraction(1, 10**6)


def test_costs_have_a_lower_bound_alone_where_a_policy_never_ends(tmp_path):
    """Whoever goes left every time stays in the middle, and loses 1 each time."""
    goes = [[[1.0, 0.0], [0.0, 1.0]], [[0.5, 0.5], [0.0, 1.0]]]
    rewards = [[-1.0, -1.0], [0.0, 0.0]]
    pomdp = POMDP.from_arrays(goes, np.ones((2, 2, 1)), rewards, [1.0, 0], 1, exact=True)
    verified = proven(solve(pomdp, "sarsop"), pomdp, tmp_path / "c.json")
    assert verified.upper is None
    assert Fraction(-2) - Fraction(1, 10**6) <= verified.lower <= -2


# ---- a number of steps


def best(pomdp, belief, steps):
    """The optimal value of a number of steps in fractions; beliefs are not divided by their sum."""
    if steps == 0:
        return Fraction(0)
    model, worths = ExactModel(pomdp.record), []
    for a, rows in enumerate(model.rows):
        value, after = Fraction(0), {}
        for s, mass in belief.items():
            total, row = rows[s]
            value += mass * model.rewards[a][s]
            for o, target, weight in row:
                seen = after.setdefault(o, {})
                seen[target] = seen.get(target, 0) + mass * Fraction(weight, total)
        worths.append(
            value + model.discount * sum(best(pomdp, x, steps - 1) for x in after.values())
        )
    return max(worths)


@pytest.mark.parametrize("planner", ["vi", "enumeration", "reachable"])
@pytest.mark.parametrize("discount", ["0.95", "1"])
@pytest.mark.parametrize("name", ["tiger", "parr", "line4-2goals"])
def test_a_number_of_steps_is_certified(tmp_path, name, discount, planner):
    pomdp = build(name).with_discount(discount)
    plan = solve(pomdp, planner, horizon=3)
    verified = proven(plan, pomdp, tmp_path / "c.json")
    begin = {s: Fraction(x) for s, x in enumerate(ExactModel(pomdp.record).start) if x}
    assert verified.lower <= best(pomdp, begin, 3) <= verified.upper
    assert verified.lower >= plan.lower - 1e-9
    assert verified.upper <= plan.upper + 1e-9


def test_many_steps_without_a_discount_are_certified(tmp_path):
    """More steps than there are sweeps; each of them costs 1 where no door pays."""
    pomdp = build("tiger").with_discount(1)
    plan = solve(pomdp, "vi", horizon=110, max_iterations=3)
    verified = proven(plan, pomdp, tmp_path / "c.json")
    assert verified.lower >= plan.lower - 1e-7
    assert verified.upper is not None


def test_a_number_of_steps_on_the_r_psr_is_certified(tmp_path):
    pomdp = build("parr")
    plan = solve(rpsr(pomdp), "vi", horizon=4)
    verified = proven(plan, pomdp, tmp_path / "c.json")
    assert verified.lower >= plan.lower - 1e-9
    assert verified.upper <= plan.upper + 1e-9


def test_plans_that_have_no_certificate_say_why():
    pomdp = build("parr")
    with pytest.raises(ModelError, match="bounds the value of that model, not of the POMDP"):
        certify(solve(psr(pomdp), "sarsop"), pomdp)
    with pytest.raises(ModelError, match="does not contain the POMDP; pass it"):
        certify(solve(rpsr(pomdp), "sarsop"))
    with pytest.raises(ModelError, match="made for another POMDP than tiger"):
        certify(solve(pomdp, "sarsop"), build("tiger"))
