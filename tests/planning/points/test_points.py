"""Backups at points: by brute force, as linear algebra, and on models that are not quite models."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.builders import pomdps, rotated
from tests.strategies import few

from rpsr.domains import build
from rpsr.models import POMDP, DenseOperators, Unknown
from rpsr.planning import planner_by_name, solve
from rpsr.planning.corners.corner_model import corner_process
from rpsr.planning.limits import no_limits
from rpsr.planning.points.backups import (
    Followers,
    Promises,
    backup,
    excess,
    first_plans,
    lower_at_start,
    step,
    swept,
    with_successors,
)
from rpsr.planning.points.point_search import PointSearch
from rpsr.planning.value.controllers import FiniteStateController
from rpsr.planning.value.value_function import ValueFunction
from rpsr.predictive import rpsr


def noisy(model, size, seed=0):
    """What an estimator might have made of a model: wrong operators, an unknown domain."""
    rng = np.random.default_rng(seed)
    n_actions, n_observations, n = model.operators.shape
    matrices = np.array(
        [[model.operators.matrix(a, o) for o in range(n_observations)] for a in range(n_actions)]
    )
    matrices = matrices + size * np.abs(matrices).max() * rng.normal(size=matrices.shape) / n**0.5
    return replace(model, operators=DenseOperators(matrices), domain=Unknown(), rounding=1e-6)


@given(pomdps(), st.integers(0, 99))
@settings(max_examples=few(25))
def test_a_backup_is_the_best_of_all_one_step_plans(pomdp, seed):
    for model in (pomdp.belief_model(), rotated(pomdp)):
        rng = np.random.default_rng(seed)
        vectors = rng.normal(size=(2, model.dimension))
        choices, values = backup(model, vectors, model.start[None])
        everything = product(range(len(model.actions)), *[range(2)] * len(model.observations))
        plans = np.array(list(everything))
        worth = Followers(model, plans)(vectors) @ model.start
        assert values[0] == pytest.approx(worth.max(), abs=1e-10)
        mine = Followers(model, choices)(vectors)[0] @ model.start
        assert mine == pytest.approx(worth.max(), abs=1e-10)


def test_sweeps_end_at_the_controllers_values():
    model = rpsr(build("loadunload"))
    rng = np.random.default_rng(3)
    choices = np.column_stack([rng.integers(2, size=5), rng.integers(5, size=(5, 3))])
    controller = FiniteStateController(
        model.actions, model.observations, choices[:, 0], choices[:, 1:]
    )
    plans = swept(model, ValueFunction.of(np.zeros((5, model.dimension)), choices), 2000, 1e-14)
    assert np.allclose(plans.vectors, controller.vectors(model), atol=1e-11)
    corners = model.domain.points
    assert abs(excess(model, plans, corners)) < 1e-12
    raised = ValueFunction.of(plans.vectors + model.normalizer, choices)
    assert excess(model, raised, corners) == pytest.approx(1 - model.discount)


def test_successors_are_kept_unless_another_vector_is_as_good():
    vectors = np.array([[3.0, 0.0], [1.0, 1.0], [2.0, -1.0]])
    choices = np.array([[0, 1], [0, 0], [1, 2]])
    plans, worth = ValueFunction.of(vectors, choices), vectors.T
    only = with_successors(plans, np.array([True, False, False]), worth, 0.0)
    assert only.vectors.tolist() == [[3.0, 0.0], [1.0, 1.0]]
    assert only.choices.tolist() == [[0, 1], [0, 0]]
    first = with_successors(plans, np.array([True, False, False]), worth, 1.0)
    assert first.vectors.tolist() == [[3.0, 0.0]]
    assert first.choices.tolist() == [[0, 0]]


def test_walkers_see_what_the_model_predicts_and_filter_as_it_does():
    model = rpsr(build("tiger"))
    rng, walkers = np.random.default_rng(0), 4000
    states = np.tile(model.update(model.start, 0, 0), (walkers, 1))
    actions = np.repeat([0, 1], walkers // 2)
    seen, after = step(model, states, actions, rng)
    for action in (0, 1):
        chances = model.predict(states[0], action)
        often = np.bincount(seen[actions == action], minlength=2) / (walkers // 2)
        # Four standard deviations of a frequency at most.
        assert np.abs(often - chances).max() < 4 * 0.5 / (walkers // 2) ** 0.5
        for observation in (0, 1):
            rows = (actions == action) & (seen == observation)
            expected = model.update(states[0], action, observation)
            assert np.allclose(after[rows], expected, atol=1e-13)


def test_a_walk_that_cannot_continue_restarts():
    model = build("tiger").belief_model()
    nothing = replace(model, operators=DenseOperators(np.zeros((3, 2, 2, 2))))
    seen, after = step(nothing, np.array([[0.3, 0.7]]), np.array([1]), np.random.default_rng(0))
    assert seen.tolist() == [-1]
    assert after.tolist() == [[0.5, 0.5]]


def test_first_plans_are_blind_policies_or_the_worst_reward_at_every_step():
    model = build("tiger").with_discount("0.95").belief_model()
    plans, _ = first_plans(model, model.start[None])
    assert plans.choices[:, 0].tolist() == [0, 1, 2]
    assert plans.vectors[0] == pytest.approx([-20, -20])  # listening at every step
    doubled = 2 * np.array([[model.operators.matrix(a, o) for o in range(2)] for a in range(3)])
    broken = replace(model, operators=DenseOperators(doubled), domain=Unknown())
    worst, _ = first_plans(broken, model.start[None])
    promised = Promises.at(broken, model.start[None])
    assert worst.vectors.tolist() == [[promised.least] * 2]


@pytest.mark.parametrize("planner", ["pbvi", "perseus", "q-learning"])
def test_the_reward_at_the_start_is_not_promised_at_every_step(planner):
    """A task with reward 1 per step that ends with probability 1/2, which is observed."""
    moves = [[0.5, 0.5], [0, 1]]
    model = POMDP.from_arrays(
        [moves, moves], [np.eye(2)] * 2, [[1, 1], [0, 0]], [1, 0], 0.9
    ).belief_model()
    plan = solve(replace(model, domain=Unknown()), planner_by_name(planner))
    assert plan.value == pytest.approx(1 / (1 - 0.9 / 2), abs=0.02)


def test_promises_that_rewards_cannot_keep_are_seen():
    model = replace(build("tiger").with_discount("0.95").belief_model(), domain=Unknown())
    points = np.array([[0.5, 0.5], [1.0, 0.0]])
    promises = Promises.at(model, points)  # rewards there lie within [-100, 10]
    assert promises.least < -100 * 20
    assert promises.most > 10 * 20
    vectors = np.array([[0.0, 0.0], [1e4, 0.0], [np.nan, 0.0], [-1e4, 0.0]])
    assert promises.kept(vectors, points).tolist() == [True, False, False, False]


def test_new_points_are_apart_and_no_more_than_asked_for():
    search = PointSearch.__new__(PointSearch)
    search.model, search.clock = build("tiger").belief_model(), no_limits()
    search.points = search.model.start[None]
    states = np.array([[0.5, 0.5], [0.9, 0.1], [0.9, 0.1], [0.2, 0.8], [0.3, 0.7]])
    np.testing.assert_array_equal(search.apart(states, 9), states[[1, 3, 4]])
    np.testing.assert_array_equal(search.apart(states, 2), states[[1, 3]])
    assert len(search.apart(states, 0)) == 0


def test_a_value_function_says_how_many_bytes_it_has():
    function = ValueFunction(np.zeros((3, 4)), np.zeros(3, np.int64), np.zeros((3, 2), np.int64))
    assert function.nbytes == 8 * (12 + 3 + 6)


def test_the_lower_bound_at_the_start_is_that_of_the_best_plan():
    model = build("tiger").belief_model()
    listen, left = model.actions.index("listen"), model.actions.index("open-left")
    often = -45 / (1 - 0.95)  # the mean value of opening the left door at every step
    opening = model.rewards[:, left] + 0.95 * often
    for best in (0, 1):
        vectors, choices = np.array([[-20, -20], opening]), np.array([[listen, 0, 0], [left, 1, 1]])
        if best == 1:
            vectors, choices = vectors[::-1], np.array([[left, 0, 0], [listen, 1, 1]])
        plans = ValueFunction.of(vectors, choices)
        for process in (corner_process(model), None):
            lower = lower_at_start(model, process, plans, np.eye(2))
            assert lower == pytest.approx(-20, rel=1e-9)
            assert lower <= -20
