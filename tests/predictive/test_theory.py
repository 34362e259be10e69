"""The paper's claims about PSRs and their rewards, on random models."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.predictive.exact_accuracy import pomdps, reachable_beliefs, residual, reward_columns
from tests.predictive.histories import belief_after, random_history, random_test
from tests.predictive.rationals import outcome, rank
from tests.predictive.small_models import blind, blind_walk
from tests.strategies import few

from rpsr.models.pomdp import POMDP
from rpsr.predictive import (
    CoreView,
    accuracy,
    approximate_rewards,
    distance_to_representable,
    expect,
    find_core,
    least_largest_error,
    pomdp_rewards,
    psr,
    reconstruct,
    state_after,
)
from rpsr.predictive.core import as_member
from rpsr.sources import load_pomdp

SEEDS = st.integers(0, 2**32 - 1)
FEW = settings(max_examples=few(25))


def size(pomdp: POMDP) -> float:
    """The scale of a model's rewards."""
    return float(np.abs(pomdp.R).max()) or 1.0


# ---- core sets


@pytest.mark.parametrize("kind", ["psr", "rpsr"])
@FEW
@given(pomdp=pomdps())
def test_all_core_sets_have_one_size_and_no_more_than_the_states(pomdp, kind):
    broad, deep = (find_core(pomdp, kind, search=order) for order in ("bfs", "dfs"))
    assert broad.rank == deep.rank == len(broad.members) == len(deep.members)
    assert broad.rank <= len(pomdp.states)
    # The same span, not only the same size: each basis projects the other onto itself.
    assert np.allclose(broad.basis @ (broad.basis.T @ deep.basis), deep.basis, atol=1e-9)


@FEW
@given(pomdp=pomdps(), seed=SEEDS, steps=st.integers(1, 5))
def test_the_outcome_of_any_test_is_in_the_span_of_the_core(pomdp, seed, steps):
    core, test = find_core(pomdp, "psr"), random_test(pomdp, seed, steps)
    vectors = [outcome(pomdp, as_member(pomdp, member)) for member in core.members]
    target = outcome(pomdp, as_member(pomdp, test))
    assert not any(residual(vectors, target))
    assert all(0 <= x <= 1 for x in target)


@FEW
@given(pomdp=pomdps(), seed=SEEDS, steps=st.integers(0, 4))
def test_a_predictive_state_holds_the_probabilities_of_its_core_tests(pomdp, seed, steps):
    history = random_history(pomdp, seed, steps)
    model, belief = psr(pomdp), belief_after(pomdp, history)
    state = CoreView(model).state(state_after(model, history))
    for i, member in enumerate(find_core(pomdp, "psr").members):
        truth = [float(x) for x in outcome(pomdp, as_member(pomdp, member))]
        assert state[i] == pytest.approx(belief @ truth, abs=1e-9)


@FEW
@given(pomdp=pomdps(), seed=SEEDS, steps=st.integers(0, 3))
def test_probabilities_of_tests_are_linear_in_the_predictive_state(pomdp, seed, steps):
    history, test = random_history(pomdp, seed, steps), random_test(pomdp, seed + 1, 3)
    model = psr(pomdp)
    view = CoreView(model)
    assume(view.condition_number < 1e6)
    state = view.state(state_after(model, history))
    truth = belief_after(pomdp, history) @ [
        float(x) for x in outcome(pomdp, as_member(pomdp, test))
    ]
    assert expect(model, test, history) == pytest.approx(truth, abs=1e-9)
    assert state @ view.m(test) == pytest.approx(truth, abs=1e-9)


@FEW
@given(pomdp=pomdps(), seed=SEEDS, steps=st.integers(1, 4))
def test_predictive_states_move_by_their_parameter_matrices(pomdp, seed, steps):
    *history, (a, o) = random_history(pomdp, seed, steps)
    model = psr(pomdp)
    view = CoreView(model)
    assume(view.condition_number < 1e4)
    before, after = (view.state(state_after(model, h)) for h in (history, [*history, (a, o)]))
    m = view.m(f'"{pomdp.actions[a]}" "{pomdp.observations[o]}"')
    assert before @ view.M(a, o) / (before @ m) == pytest.approx(after, abs=1e-8)


# ---- Proposition 1


def test_proposition_1_no_function_of_the_predictive_state_gives_the_reward():
    pomdp = blind_walk()
    model, view = psr(pomdp), CoreView(psr(pomdp))
    assert model.dimension == 1
    states, rewards = [], []
    for steps in range(5):
        history = [("go", "dark")] * steps
        assert expect(model, "go dark, stay dark", history) == pytest.approx(1)
        states.append(view.state(state_after(model, history)).tolist())
        b = state_after(pomdp.belief_model(), history)
        rewards.append(pomdp.belief_model().expected_rewards(b).tolist())
    assert states == [pytest.approx(states[0])] * 5
    assert rewards == [[0, 0]] * 3 + [[1, 1]] * 2  # the same state with two rewards: no function


def test_proposition_1_two_states_are_enough():
    pomdp = blind(2, move=lambda s, _: {1: 1}, reward=lambda s, _: s, start={0: 1})
    answer = accuracy(pomdp)
    assert (answer.psr.rank, answer.accurate_reachable) == (1, False)


# ---- Theorem 1


@FEW
@given(pomdp=pomdps(), seed=SEEDS, steps=st.integers(0, 5))
def test_theorem_1_if_the_condition_holds_the_psr_has_the_rewards(pomdp, seed, steps):
    assume(find_core(pomdp, "psr").accurate)
    history = random_history(pomdp, seed, steps)
    model = psr(pomdp)
    earned = model.expected_rewards(state_after(model, history))
    assert earned == pytest.approx(belief_after(pomdp, history) @ pomdp.R, abs=1e-9 * size(pomdp))


@FEW
@given(pomdp=pomdps())
def test_theorem_1_only_if_where_reachable_beliefs_span(pomdp):
    assume(rank(reachable_beliefs(pomdp)) == len(pomdp.states))
    answer = accuracy(pomdp)
    assert answer.accurate_reachable == answer.accurate


@FEW
@given(pomdp=pomdps())
def test_theorem_1_the_rewards_are_those_of_the_pseudoinverse(pomdp):
    core = find_core(pomdp, "psr")
    assume(core.condition_number < 1e4)
    expected = np.linalg.pinv(core.outcomes) @ pomdp.R
    tolerance = 1e-8 * (size(pomdp) + float(np.abs(expected).max()))
    assert approximate_rewards(core, pomdp.R) == pytest.approx(expected, abs=tolerance)
    rewards = CoreView(psr(pomdp)).R
    assert rewards == pytest.approx(expected, abs=tolerance)


@FEW
@given(pomdp=pomdps())
def test_a_psr_of_full_rank_is_accurate(pomdp):
    core = find_core(pomdp, "psr")
    assert core.accurate or core.rank < len(pomdp.states)


@FEW
@given(pomdp=pomdps())
def test_ranks_are_equal_if_and_only_if_the_psr_is_accurate(pomdp):
    tests, intents = find_core(pomdp, "psr"), find_core(pomdp, "rpsr")
    assert (tests.rank == intents.rank) == tests.accurate


# ---- Corollary 1


@FEW
@given(pomdp=pomdps(), seed=SEEDS)
def test_corollary_1_psr_rewards_survive_the_round_trip(pomdp, seed):
    core = find_core(pomdp, "psr")
    assume(core.condition_number < 1e6)
    W = np.random.default_rng(seed).normal(size=(core.rank, len(pomdp.actions)))
    R = pomdp_rewards(core, W)
    assert distance_to_representable(core, R) < 1e-9
    assert approximate_rewards(core, R) == pytest.approx(W, abs=1e-7)


@FEW
@given(pomdp=pomdps(), seed=SEEDS, steps=st.integers(0, 4))
def test_corollary_1_both_forms_pay_the_same_after_every_history(pomdp, seed, steps):
    core, history = find_core(pomdp, "psr"), random_history(pomdp, seed, steps)
    W = np.random.default_rng(seed).normal(size=(core.rank, len(pomdp.actions)))
    model = psr(pomdp, core=core, rewards=W)
    earned = model.expected_rewards(state_after(model, history))
    belief = belief_after(pomdp, history)
    assert earned == pytest.approx(belief @ pomdp_rewards(core, W), abs=1e-9)
    state = CoreView(model).state(state_after(model, history))
    assert earned == pytest.approx(state @ W, abs=1e-9)


# ---- Theorem 2 and Corollary 2


@FEW
@given(pomdp=pomdps(), seed=SEEDS, weighted=st.booleans())
def test_theorem_2_no_other_rewards_are_closer(pomdp, seed, weighted):
    rng, core = np.random.default_rng(seed), find_core(pomdp, "psr")
    weights = rng.random(len(pomdp.states)) if weighted else None
    w = np.ones(len(pomdp.states)) if weights is None else weights
    best = reconstruct(core, pomdp.R, weights)
    least = w @ (best - pomdp.R) ** 2
    for scale in (1.0, 1e-3):
        other = best + core.outcomes @ rng.normal(size=(core.rank, 1)) * scale * size(pomdp)
        assert (w @ (other - pomdp.R) ** 2 >= least - 1e-12 * size(pomdp) ** 2).all()


@FEW
@given(pomdp=pomdps(), seed=SEEDS)
def test_theorem_2_holds_for_beliefs_drawn_uniformly_too(pomdp, seed):
    # Over the simplex, the mean of (b e)^2 is (|e|^2 + (1 e)^2) / (S (S + 1)); since 1 is an
    # outcome, least squares over states leave an e with 1 e = 0, and so minimise both terms.
    core = find_core(pomdp, "psr")

    def mean_square(rewards):
        errors = rewards - pomdp.R
        return ((errors**2).sum(axis=0) + errors.sum(axis=0) ** 2) / size(pomdp) ** 2

    best = reconstruct(core, pomdp.R)
    other = best + core.basis @ np.random.default_rng(seed).normal(size=(core.rank, 1))
    assert np.allclose(best.sum(axis=0), pomdp.R.sum(axis=0), rtol=0, atol=1e-9 * size(pomdp))
    assert (mean_square(other) >= mean_square(best) - 1e-12).all()


@FEW
@given(pomdp=pomdps())
def test_corollary_2_the_reconstruction_is_the_rewards_if_and_only_if_accurate(pomdp):
    core = find_core(pomdp, "psr")
    vectors = [outcome(pomdp, as_member(pomdp, member)) for member in core.members]
    lost = [residual(vectors, column) for column in reward_columns(pomdp)]
    exact = np.array([[float(x) for x in column] for column in lost]).T
    assert pomdp.R - reconstruct(core, pomdp.R) == pytest.approx(exact, abs=1e-9 * size(pomdp))
    assert core.accurate == (not any(map(any, lost)))


# ---- the largest error


def test_a_psr_that_knows_nothing_errs_least_with_the_middle_of_the_rewards():
    """To the PSR of line4-2goals all cells are one: its rewards are a constant an action."""
    pomdp = load_pomdp("line4-2goals")
    core = find_core(pomdp, "psr")
    assert core.rank == 1
    middle = np.ptp(pomdp.R, axis=0).max() / 2
    assert least_largest_error(core, pomdp.R) == pytest.approx(middle)


@FEW
@given(pomdp=pomdps(), seed=SEEDS)
def test_least_squares_never_err_less_and_rewards_of_the_psr_change_nothing(pomdp, seed):
    core = find_core(pomdp, "psr")
    assume(core.condition_number < 1e6)
    least = least_largest_error(core, pomdp.R)
    scale = max(1.0, float(np.abs(pomdp.R).max()))
    assert least <= np.abs(pomdp.R - reconstruct(core, pomdp.R)).max() + 1e-9 * scale
    W = np.random.default_rng(seed).normal(size=(core.rank, len(pomdp.actions)))
    shifted = least_largest_error(core, pomdp.R + pomdp_rewards(core, W))
    assert shifted == pytest.approx(least, abs=1e-6 * scale)
