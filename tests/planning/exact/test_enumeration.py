"""Enumeration against sums one can write down and against every policy tree of two steps."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from tests.models.builders import Sizes, pomdps, random_exact, rotated
from tests.planning.plans import ignore
from tests.strategies import few

from rpsr import POMDP, InputError
from rpsr.domains import build
from rpsr.planning.corners.cheap_bounds import blind_values
from rpsr.planning.corners.corner_model import corner_process
from rpsr.planning.exact.enumeration import Enumeration
from rpsr.planning.exact.value_iteration import ValueIteration
from rpsr.planning.solution import Status
from rpsr.planning.value.controllers import extract_controller
from rpsr.planning.value.trees import PolicyTree


def one_state(discount):
    return POMDP.from_arrays(
        np.ones((2, 1, 1)), np.ones((2, 1, 1)), np.array([[1.0, 2.5]]), discount=discount
    )


@pytest.mark.parametrize("discount", [0.0, 0.5, 0.95, 1.0])
@pytest.mark.parametrize("horizon", [1, 3, 10])
def test_one_state_sums_its_best_reward(discount, horizon):
    model = one_state(discount).belief_model()
    plan = Enumeration(horizon=horizon).solve(model, ignore)
    answer = 2.5 * sum(discount**t for t in range(horizon))
    assert plan.lower <= answer <= plan.upper
    assert plan.value == pytest.approx(answer, rel=1e-13)
    assert plan.status is Status.HORIZON


def test_one_state_with_an_infinite_horizon():
    plan = Enumeration(epsilon=1e-9).solve(one_state(0.9).belief_model(), ignore)
    assert plan.lower <= 25.0 <= plan.upper
    assert plan.upper - plan.lower <= 3e-9


def every_tree(model, steps):
    """The values (.., n) of all policy trees, by recursion over everything."""
    n_actions, n_observations, n = model.operators.shape
    if steps == 0:
        return np.zeros((1, n))
    below = every_tree(model, steps - 1)
    trees = []
    for a in range(n_actions):
        after = [model.operators.right(below, a, o) for o in range(n_observations)]
        for pick in product(range(len(below)), repeat=n_observations):
            total = sum(after[o][i] for o, i in enumerate(pick))
            trees.append(model.rewards[:, a] + model.discount * total)
    return np.array(trees)


@given(pomdps())
@settings(max_examples=few(20))
def test_two_steps_are_the_best_of_every_tree(pomdp):
    model = pomdp.belief_model()
    plan = Enumeration(horizon=2).solve(model, ignore)
    points = np.random.default_rng(0).dirichlet(np.ones(model.dimension), size=50)
    answer = (points @ every_tree(model, 2).T).max(axis=1)
    assert plan.value_at(points) == pytest.approx(answer, abs=1e-11)


def test_stages_hold_trees_whose_successors_are_in_the_stage_before():
    model = random_exact(3, Sizes(2, 3, 2)).belief_model()
    plan = Enumeration(horizon=4).solve(model, ignore)
    assert len(plan.stages) == 4
    for before, stage in zip(plan.stages, plan.stages[1:], strict=False):
        for vector, a, after in zip(stage.vectors, stage.actions, stage.successors, strict=True):
            total = sum(
                model.operators.right(before.vectors[i][None], int(a), o)[0]
                for o, i in enumerate(after)
            )
            assert vector == pytest.approx(model.rewards[:, a] + 0.9 * total, abs=1e-11)


def test_coordinates_do_not_matter():
    pomdp = random_exact(5, Sizes(2, 4, 2))
    plain = Enumeration(horizon=3).solve(pomdp.belief_model(), ignore)
    turned = Enumeration(horizon=3).solve(rotated(pomdp), ignore)
    assert turned.value == pytest.approx(plain.value, abs=1e-12)
    assert len(turned.vectors) == len(plain.vectors)


@pytest.mark.parametrize("planner", [Enumeration(horizon=4), ValueIteration(horizon=4)])
def test_too_large_a_cross_sum_is_a_limit_that_leaves_bounds(planner, monkeypatch):
    model = build("tiger").belief_model()
    full = planner.solve(model, ignore)
    monkeypatch.setattr("rpsr.planning.exact.backup.LARGEST_CROSS_SUM", 10)
    short = planner.solve(model, ignore)
    assert short.status is Status.SIZE
    assert not short.status.reached_goal
    assert 1 <= short.iterations < 4 == len(short.stages)
    assert short.lower <= full.value <= short.upper


@pytest.mark.parametrize("planner", [Enumeration(horizon=4), ValueIteration(horizon=4)])
def test_stopped_before_anything_was_pruned_there_is_a_plan_for_one_step(planner):
    model = build("tiger").belief_model()
    full = planner.solve(model, ignore)
    none = replace(planner, max_iterations=0).solve(model, ignore)
    assert none.status is Status.ITERATIONS
    assert none.horizon == len(none.stages) == 4
    listening = -sum(model.discount**t for t in range(4))
    assert PolicyTree.of(none).value(model) == pytest.approx(none.value, abs=1e-12)
    assert none.value == pytest.approx(listening, abs=1e-12)
    assert none.lower <= full.value <= none.upper


def test_a_precision_that_is_none_is_refused():
    model = build("tiger").belief_model()
    for epsilon in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(InputError, match="expected a finite number above 0"):
            Enumeration(epsilon=epsilon).solve(model, ignore)


def test_limits_leave_bounds_that_hold():
    model = random_exact(3, Sizes(2, 3, 2)).belief_model()
    full = Enumeration(horizon=6).solve(model, ignore)
    short = Enumeration(horizon=6, max_iterations=2).solve(model, ignore)
    assert short.status is Status.ITERATIONS
    assert short.lower <= full.value <= short.upper
    assert short.iterations == 2
    assert len(short.stages) == 6


def test_the_lower_bound_is_that_of_the_best_blind_policy_or_more():
    model = build("iff").belief_model()
    process = corner_process(model)
    blind = blind_values(process)
    best, off = process.value_at_start(blind)
    plan = Enumeration(max_iterations=1).solve(model)
    # Both are proven from their own backups, each of which may hide its rounding at every step.
    allowed = process.rounding(float(np.abs(blind).max())) * process.ahead
    assert plan.lower >= best - off - 2 * allowed
    assert allowed < 1e-8
    assert extract_controller(plan).value(model) >= plan.lower
