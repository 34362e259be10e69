"""Bounds that cost little: analytic answers, exact planning between them, truncation, rounding."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.builders import Sizes, random_exact, rotated
from tests.planning.plans import ignore
from tests.strategies import few

from rpsr import POMDP, ModelError
from rpsr.domains import build
from rpsr.models import Unknown
from rpsr.models.operators import DenseOperators
from rpsr.planning.corners.cheap_bounds import (
    _owed,
    blind_values,
    blind_vectors,
    fast_informed_values,
    mdp_values,
    qmdp_values,
    upper_at_start,
)
from rpsr.planning.corners.corner_model import corner_process
from rpsr.planning.exact.value_iteration import ValueIteration
from rpsr.planning.limits import no_limits
from rpsr.predictive.constructors import psr, rpsr


def bounds_at_start(model):
    """Lower, then FIB, QMDP and MDP."""
    process = corner_process(model)
    vectors, _ = blind_vectors(model)
    mdp = mdp_values(process)
    qmdp = qmdp_values(process, mdp)
    informed = fast_informed_values(process)
    seen = np.repeat(mdp[None], len(model.actions), axis=0)
    above = [upper_at_start(process, bound) for bound in (informed, qmdp, seen)]
    return [float((vectors @ model.start).max()), *above]


@pytest.mark.parametrize("discount", [0.0, 0.5, 0.99])
def test_one_state_is_known_to_rounding(discount):
    model = POMDP.from_arrays(
        np.ones((2, 1, 1)), np.ones((2, 1, 1)), np.array([[1.0, 2.5]]), discount=discount
    ).belief_model()
    answer = 2.5 / (1 - discount)
    lower, *above = bounds_at_start(model)
    assert lower <= answer <= min(above)
    assert [lower, *above] == pytest.approx([answer] * 4, rel=1e-10)


def test_the_tiger_blind_and_seen():
    lower, informed, qmdp, mdp = bounds_at_start(build("tiger").belief_model())
    assert lower == pytest.approx(-20, rel=1e-12)  # listening at every step, at -1 per step
    assert mdp == pytest.approx(200, rel=1e-12)  # the right door at every step
    assert qmdp == pytest.approx(-1 + 0.95 * 200, rel=1e-12)
    assert informed < 100


@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 4), st.integers(1, 3))
@settings(max_examples=few(25))
def test_bounds_bracket_the_optimum_on_every_model(seed, A, S, O):
    pomdp = random_exact(seed, Sizes(A, S, O)).with_discount("0.6")
    for model in (pomdp.belief_model(), rotated(pomdp), psr(pomdp), rpsr(pomdp)):
        exact = ValueIteration(epsilon=1e-6, time_limit=5).solve(model, ignore)
        lower, informed, qmdp, mdp = bounds_at_start(model)
        assert lower <= exact.upper
        assert exact.lower <= informed <= qmdp + 1e-9
        assert qmdp <= mdp + 1e-9


@given(st.integers(0, 10**6))
@settings(max_examples=few(25))
def test_blind_values_solve_their_equation_from_below(seed):
    pomdp = random_exact(seed, Sizes(2, 4, 3))
    process = corner_process(pomdp.belief_model())
    for value, a in zip(blind_values(process), range(2), strict=True):
        moves = sum(matrix.toarray() for matrix in pomdp.D[a])
        answer = np.linalg.solve(np.eye(4) - 0.9 * moves, pomdp.R[:, a])
        assert (value <= answer).all()
        assert value == pytest.approx(answer, abs=1e-9)


def unknown(model):
    return replace(model, domain=Unknown())


def test_blind_policies_need_no_domain_and_upper_bounds_do():
    model = rpsr(build("loadunload"))
    known, known_actions = blind_vectors(model)
    blind, actions = blind_vectors(unknown(model))
    assert actions.tolist() == known_actions.tolist() == [0, 1]
    assert blind == pytest.approx(known, abs=1e-9)
    with pytest.raises(ModelError, match="the valid states of this rpsr model are unknown"):
        corner_process(unknown(model))


def test_a_blind_policy_whose_value_diverges_is_left_out():
    model = unknown(build("tiger").belief_model())
    matrices = np.array([[model.operators.matrix(a, o) for o in range(2)] for a in range(3)])
    matrices[1] *= 2
    odd = replace(model, operators=DenseOperators(matrices))
    vectors, actions = blind_vectors(odd)
    assert (actions.tolist(), vectors.shape) == ([0, 2], (2, 2))
    with pytest.raises(ModelError, match="no action has a finite value"):
        blind_vectors(replace(model, operators=DenseOperators(matrices * 3)))


def test_discount_one_is_refused():
    with pytest.raises(ModelError, match="discount below 1"):
        blind_vectors(build("tiger").with_discount(1).belief_model())


@pytest.mark.parametrize("source", ["tiger", "rock-sample:n=5,k=6"])
def test_a_time_limit_that_does_not_run_out_changes_no_blind_policy(source):
    """Below and above the number of corners from which its value is swept first."""
    process = corner_process(build(source).belief_model())
    unhurried = replace(no_limits(), time_limit=1e9)
    np.testing.assert_array_equal(blind_values(process, unhurried), blind_values(process))


def test_sweeps_below_the_initial_bound_count_their_rounding():
    # The largest reward is 0, so the initial bound is 0, and values are below it.
    rng, below = np.random.default_rng(0), []
    for _ in range(100):
        loss, stay = -float(rng.random()), float(rng.random())
        discount = round(float(rng.uniform(0.3, 0.8)), 3)
        moves = np.array([[[stay, 1 - stay], [0.0, 1.0]]])
        seen = np.ones((1, 2, 1))
        pomdp = POMDP.from_arrays(moves, seen, np.array([[loss], [0.0]]), discount=discount)
        process = corner_process(pomdp.belief_model())
        chance = Fraction(stay) / (Fraction(stay) + Fraction(1 - stay))
        exact = Fraction(loss) / (1 - Fraction(str(discount)) * chance)
        bounds = mdp_values(process)[0], fast_informed_values(process)[0, 0]
        below += [value for value in bounds if Fraction(float(value)) < exact]
    assert not below


def test_an_action_far_below_the_best_counts_its_own_rounding():
    rng = np.random.default_rng(0)
    for _ in range(100):
        loss, gain = -float(rng.uniform(1e9, 1e10)), float(rng.random())
        only = np.ones((2, 1, 1))
        pomdp = POMDP.from_arrays(only, only, np.array([[gain, loss]]), discount=0.5)
        bound = qmdp_values(corner_process(pomdp.belief_model()))[1, 0]
        assert Fraction(float(bound)) >= Fraction(loss) + Fraction(gain)


def test_an_error_of_one_step_is_owed_at_all_later_steps():
    """Values that are too low by d everywhere miss one backup by (1 - discount) d, and owe d."""
    process = corner_process(build("tiger").with_discount("0.99").belief_model())
    optimum = mdp_values(process)
    for short in (1e-6, 1.0, 100.0):
        values = optimum - short
        missed = float((1 - process.discount) * short)
        assert (values + _owed(process, missed, values) >= optimum).all()
