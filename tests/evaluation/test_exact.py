"""Exact values: against every history in fractions, closed forms, and walks of reachable states."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.evaluation.oracle import choice_of, expected_return, random_table
from tests.evaluation.test_simulation import Repeats
from tests.models.builders import Sizes, pomdps, random_exact, rotated
from tests.strategies import few

from rpsr import ImpossibleObservation, ModelError
from rpsr.domains import build
from rpsr.evaluation import StochasticController, exact_return, kernels
from rpsr.evaluation.exact import exact_returns
from rpsr.evaluation.greedy import tabulate
from rpsr.models.operators import DenseOperators
from rpsr.planning import (
    AlphaPolicy,
    PolicyTree,
    StagedPolicy,
    UniformPolicy,
    ValueIteration,
    extract_controller,
    policy_value,
    solve,
)
from rpsr.predictive import find_core, psr, rpsr
from rpsr.predictive.rewards import reconstruct


@given(pomdps(), st.integers(0, 2**32 - 1), st.integers(1, 3), st.booleans())
@settings(max_examples=few(25))
def test_every_history_in_fractions(pomdp, seed, nodes, mixed):
    assume(len(pomdp.actions) * len(pomdp.observations) <= 6)
    table = random_table(seed, pomdp, nodes, mixed=mixed)
    true = float(expected_return(pomdp, choice_of(table), 3))
    assert exact_return(pomdp, table, steps=3) == pytest.approx(true, abs=1e-11)
    for model in (rpsr(pomdp), rotated(pomdp)):
        assert exact_return(model, table, steps=3) == pytest.approx(true, abs=1e-9)
        assert exact_return(pomdp, table, steps=3, rewards=model) == pytest.approx(true, abs=1e-9)


@given(pomdps(), st.integers(0, 2**32 - 1))
@settings(max_examples=few(15))
def test_a_psrs_rewards_are_those_of_the_reconstruction(pomdp, seed):
    assume(len(pomdp.actions) * len(pomdp.observations) <= 6)
    table = random_table(seed, pomdp, 2)
    seen = reconstruct(find_core(pomdp, "psr"), pomdp.R).tolist()
    rewards = [[Fraction(value) for value in row] for row in seen]
    true = float(expected_return(pomdp, choice_of(table), 3, rewards))
    model = psr(pomdp)
    assert exact_return(pomdp, table, steps=3, rewards=model) == pytest.approx(true, abs=1e-9)
    assert exact_return(model, table, steps=3) == pytest.approx(true, abs=1e-9)


@given(pomdps(), st.integers(0, 2**32 - 1), st.integers(1, 3), st.booleans())
@settings(max_examples=few(25))
def test_the_infinite_horizon_is_the_limit_of_many_steps(pomdp, seed, nodes, mixed):
    table = random_table(seed, pomdp, nodes, mixed=mixed)
    most = exact_return(pomdp, table, steps=400)  # at discount 0.9 what follows is below 1e-16
    assert exact_return(pomdp, table) == pytest.approx(most, abs=1e-10)


def test_what_a_psr_merges_is_valued_beside_it():
    """A PSR as the system, valued by the POMDP whose rewards its states cannot carry."""
    pomdp = build("loadunload")
    table = random_table(3, pomdp, 3)
    for steps in (1, 7, None):
        true = exact_return(pomdp, table, steps=steps)
        beside = exact_return(psr(pomdp), table, steps=steps, rewards=pomdp.belief_model())
        assert beside == pytest.approx(true, abs=1e-9)


# ---- policies by their kind


@pytest.mark.parametrize("name", ["tiger", "paint", "loadunload", "heavenhell", "iff"])
def test_the_uniform_policy_has_a_closed_form(name):
    model = build(name).belief_model()
    policy = UniformPolicy(model, np.random.default_rng(0))
    closed = float(policy.vector() @ model.start)
    assert exact_return(model, policy) == pytest.approx(closed, rel=1e-9, abs=1e-12)


def test_the_uniform_policy_in_heaven_and_hell_earns_nothing():
    """Heaven and hell change places with the sign: by symmetry, at any number of steps."""
    pomdp = build("heavenhell")
    policy = StochasticController.stationary(pomdp)
    for steps in (1, 10, 100, None):
        assert exact_return(pomdp, policy, steps=steps) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("name", ["tiger", "loadunload", "parr", "paint", "stand-tiger"])
@pytest.mark.parametrize("kind", ["belief", "psr"])
def test_greedy_policies_are_worth_what_their_walk_says(name, kind):
    pomdp = build(name)
    model = psr(pomdp) if kind == "psr" else pomdp.belief_model()
    policy = AlphaPolicy.of(solve(model, ValueIteration(epsilon=1e-8)))
    for steps in (1, 20, None):
        low, high = policy_value(policy, pomdp.belief_model(), steps=steps)
        assert high - low <= 1e-9
        assert exact_return(pomdp, policy, steps=steps) == pytest.approx(low, abs=1e-8)


def test_a_strong_discount_needs_few_steps():
    """So few that adding them up is the way, and no system of equations."""
    pomdp = build("heavenhell").with_discount("0.5")
    policy = AlphaPolicy.of(solve(pomdp, ValueIteration(epsilon=1e-10)))
    value = exact_return(pomdp, policy)
    assert value == pytest.approx(exact_return(pomdp, policy, steps=200), abs=1e-14)
    assert value == pytest.approx(policy_value(policy, pomdp.belief_model())[0], abs=1e-12)


def test_controllers_are_worth_their_own_value():
    pomdp = build("loadunload")
    solution = solve(pomdp, ValueIteration(epsilon=1e-9))
    controller = extract_controller(solution)
    for policy in (controller, controller.policy()):
        value = exact_return(pomdp, policy)
        assert value == pytest.approx(controller.value(pomdp.belief_model()), abs=1e-12)
        assert value == pytest.approx(solution.value, abs=1e-8)


def test_plans_for_a_horizon_are_worth_what_was_planned():
    pomdp = build("tiger")
    plan = solve(pomdp, ValueIteration(horizon=6))
    tree = PolicyTree.of(plan)
    for policy in (tree, tree.policy(), StagedPolicy.of(plan)):
        assert exact_return(pomdp, policy, steps=6) == pytest.approx(plan.value, abs=1e-10)
        with pytest.raises(ModelError, match="a plan for 6 steps, expected one for an infinite"):
            exact_return(pomdp, policy)


def test_a_table_of_a_greedy_policy_does_what_the_policy_does():
    pomdp = build("heavenhell").with_discount("0.95")
    policy = AlphaPolicy.of(solve(pomdp, ValueIteration(epsilon=1e-8)))
    table = tabulate(policy)
    assert table is not None
    value = exact_return(pomdp, table)
    assert value == pytest.approx(solve(pomdp, ValueIteration(epsilon=1e-8)).value, abs=1e-7)
    assert tabulate(policy, limit=len(table) - 1) is None
    assert len(tabulate(policy, limit=len(table))) == len(table)


# ---- where there is no answer


def test_a_policy_that_is_no_table_has_no_exact_value(monkeypatch):
    pomdp = build("tiger")
    assert exact_return(pomdp, Repeats(3), steps=10) is None
    monkeypatch.setattr("rpsr.evaluation.simulation.tabulate", lambda policy, steps: None)
    policy = AlphaPolicy.of(solve(pomdp, ValueIteration()))
    assert exact_return(pomdp, policy) is None


def test_an_infinite_horizon_needs_a_discount():
    pomdp = random_exact(1, Sizes(2, 2, 2)).with_discount(1)
    policy = StochasticController.stationary(pomdp)
    with pytest.raises(ModelError, match="give a number of steps or a discount below 1"):
        exact_return(pomdp, policy)
    moves = sum(pomdp.transition(a).toarray() for a in range(len(pomdp.actions)))
    moves = moves / len(pomdp.actions)
    at, total = pomdp.start, 0.0
    for _ in range(5):
        total, at = total + float(at @ pomdp.R.mean(axis=1)), at @ moves
    assert exact_return(pomdp, policy, steps=5) == pytest.approx(total, rel=1e-12)
    now = pomdp.with_discount(0)
    first = float(now.start @ now.R.mean(axis=1))
    for table in (policy, random_table(0, now, 2)):
        once = exact_return(now, table, steps=1)
        assert exact_return(now, table) == pytest.approx(once, abs=1e-12)
    assert exact_return(now, policy) == pytest.approx(first, abs=1e-12)


@pytest.mark.parametrize("steps", [10, None])
def test_an_observation_that_the_policy_excludes_is_an_error(steps):
    sure = build("tiger:accuracy=1").belief_model().with_rewards(np.zeros((2, 3)))
    policy = AlphaPolicy(sure, np.zeros((1, 2)))  # always listens, certain to hear the same
    assert exact_return(sure, policy, steps=steps) == 0
    with pytest.raises(ImpossibleObservation, match=r"rules out .* after action 'listen'"):
        exact_return(build("tiger"), policy, steps=steps)


def test_the_rewards_of_several_models_are_summed_on_one_walk(monkeypatch):
    pomdp = build("loadunload")
    models = [pomdp.belief_model(), psr(pomdp), rpsr(pomdp)]
    table = StochasticController.stationary(pomdp)
    one_by_one = [exact_return(pomdp, table, steps=20, rewards=model) for model in models]
    walked = []
    walk = kernels.walk
    monkeypatch.setattr(kernels, "walk", lambda *given: walked.append(1) or walk(*given))
    assert exact_return(pomdp, table, steps=20) == pytest.approx(one_by_one[0], rel=1e-12)
    once = len(walked)
    assert exact_returns(pomdp, table, models, steps=20) == pytest.approx(one_by_one, rel=1e-12)
    assert len(walked) == 2 * once == 2 * 19


@pytest.mark.parametrize("seed", range(6))
def test_pairs_of_nodes_and_states_walk_like_states_in_coordinates(seed):
    """Compiled for sparse operators; by matrices for dense ones."""
    pomdp = random_exact(seed, Sizes(3, 4, 2), by_edge=seed % 2 == 1).with_discount("0.9")
    model, table = pomdp.belief_model(), random_table(seed, pomdp, 5)
    shape = range(len(model.actions)), range(len(model.observations))
    matrices = [[model.operators.matrix(a, o) for o in shape[1]] for a in shape[0]]
    dense = replace(model, operators=DenseOperators(np.array(matrices)))
    for steps in (1, 2, 30):
        expected = exact_return(dense, table, steps=steps)
        assert exact_return(model, table, steps=steps) == pytest.approx(expected, rel=1e-12)
