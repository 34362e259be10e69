"""The paper's claims about R-PSRs, intents and value iteration, on random models."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.predictive.exact_accuracy import pomdps, residual
from tests.predictive.histories import (
    alpha_of,
    belief_after,
    generative,
    possible,
    random_history,
    random_intent,
    random_test,
    random_tree,
    value_of,
)
from tests.predictive.rationals import outcome
from tests.strategies import few

from rpsr.domains import build
from rpsr.models.pomdp import POMDP
from rpsr.predictive import (
    ZETA,
    CoreView,
    Intent,
    Test,
    approximate_rewards,
    expect,
    find_core,
    outcomes_of,
    psr,
    reconstruct,
    rpsr,
    state_after,
)
from rpsr.predictive.core import as_member

SEEDS = st.integers(0, 2**32 - 1)
FEW = settings(max_examples=few(20))
STEPS = st.integers(0, 3)


def size(pomdp: POMDP) -> float:
    """The scale of a model's rewards."""
    return max(1.0, float(np.abs(pomdp.R).max()))


# ---- Lemma 1


@FEW
@given(pomdp=pomdps(), seed=SEEDS, steps=STEPS)
def test_lemma_1_a_generative_matrix_weighs_the_belief_after_its_test(pomdp, seed, steps):
    belief = belief_after(pomdp, random_history(pomdp, seed, steps))
    history = random_history(pomdp, seed + 1, 2)
    test = Test(())
    for a, o in reversed(history):
        test = test.after(pomdp.actions[a], pomdp.observations[o])
    chance, following = possible(pomdp, belief, test)
    moved = belief @ generative(pomdp, test)
    assert moved == pytest.approx(0 * moved if following is None else chance * following)
    # The definition, not the product of matrices: filter step by step.
    stepwise, total = belief, 1.0
    for a, o in history:
        joint = stepwise @ pomdp.D[a][o].toarray()
        total *= joint.sum()
        stepwise = joint / joint.sum() if joint.sum() > 0 else joint
    assert chance == pytest.approx(total)
    assert moved == pytest.approx(total * stepwise)


# ---- intents


@FEW
@given(pomdp=pomdps(), seed=SEEDS, steps=STEPS, ahead=STEPS)
def test_proposition_2_an_intent_is_worth_its_chance_times_the_reward_after_it(
    pomdp, seed, steps, ahead
):
    history, intent = random_history(pomdp, seed, steps), random_intent(pomdp, seed, ahead)
    belief = belief_after(pomdp, history)
    chance, following = possible(pomdp, belief, intent.test)
    if intent.action is ZETA:
        column = np.ones(len(pomdp.states))
    else:
        column = pomdp.R[:, pomdp.actions.index(intent.action)]
    definition = 0.0 if following is None else chance * float(following @ column)
    tolerance = 1e-9 * size(pomdp)
    assert belief @ generative(pomdp, intent.test) @ column == pytest.approx(
        definition, abs=tolerance
    )
    assert expect(rpsr(pomdp), intent, history) == pytest.approx(definition, abs=tolerance)


@FEW
@given(pomdp=pomdps(), seed=SEEDS, ahead=st.integers(0, 4))
def test_the_outcome_of_any_intent_is_in_the_span_of_the_core(pomdp, seed, ahead):
    core, intent = find_core(pomdp, "rpsr"), random_intent(pomdp, seed, ahead)
    vectors = [outcome(pomdp, as_member(pomdp, member)) for member in core.members]
    assert not any(residual(vectors, outcome(pomdp, as_member(pomdp, intent))))


@FEW
@given(pomdp=pomdps(), seed=SEEDS, ahead=STEPS)
def test_outcomes_follow_the_recursion(pomdp, seed, ahead):
    intent = random_intent(pomdp, seed, ahead)
    a, o = pomdp.actions[seed % len(pomdp.actions)], pomdp.observations[-1]
    short, long = outcomes_of(pomdp, [intent, intent.after(a, o)]).T
    step = pomdp.D[seed % len(pomdp.actions)][len(pomdp.observations) - 1]
    assert long == pytest.approx(step @ short)
    exact = [float(x) for x in outcome(pomdp, as_member(pomdp, intent))]
    assert short == pytest.approx(exact, abs=1e-12 * size(pomdp))


def test_the_empty_test_has_outcome_one_and_the_rewards():
    pomdp = build("loadunload")
    columns = outcomes_of(pomdp, [Intent(Test(), z) for z in (ZETA, *pomdp.actions)])
    assert (columns[:, 0] == 1).all()
    assert np.array_equal(columns[:, 1:], pomdp.R)


@FEW
@given(pomdp=pomdps(), seed=SEEDS, steps=STEPS, ahead=STEPS)
def test_with_zeta_an_intent_is_its_test(pomdp, seed, steps, ahead):
    history, test = random_history(pomdp, seed, steps), random_test(pomdp, seed, ahead)
    both = expect(rpsr(pomdp), Intent(test, ZETA), history), expect(psr(pomdp), test, history)
    assert both[0] == pytest.approx(both[1], abs=1e-9)


@FEW
@given(pomdp=pomdps(), seed=SEEDS, steps=STEPS)
def test_with_an_action_alone_an_intent_is_its_reward(pomdp, seed, steps):
    history, model = random_history(pomdp, seed, steps), rpsr(pomdp)
    earned = belief_after(pomdp, history) @ pomdp.R
    intents = [Intent(Test(), action) for action in pomdp.actions]
    promised = [expect(model, intent, history) for intent in intents]
    assert promised == pytest.approx(earned, abs=1e-9 * size(pomdp))
    assert model.expected_rewards(state_after(model, history)) == pytest.approx(
        earned, abs=1e-9 * size(pomdp)
    )


# ---- reward-predictive states


@FEW
@given(pomdp=pomdps())
def test_an_rpsr_is_always_accurate(pomdp):
    core = find_core(pomdp, "rpsr")
    assert core.accurate
    assert core.rank <= len(pomdp.states)
    assert reconstruct(core, pomdp.R) == pytest.approx(pomdp.R, abs=1e-9 * size(pomdp))


@FEW
@given(pomdp=pomdps(), seed=SEEDS, steps=STEPS)
def test_a_reward_predictive_state_holds_the_rewards_of_its_core_intents(pomdp, seed, steps):
    history, model = random_history(pomdp, seed, steps), rpsr(pomdp)
    state = CoreView(model).state(state_after(model, history))
    belief = belief_after(pomdp, history)
    for i, member in enumerate(find_core(pomdp, "rpsr").members):
        truth = [float(x) for x in outcome(pomdp, as_member(pomdp, member))]
        assert state[i] == pytest.approx(belief @ truth, abs=1e-9 * size(pomdp))


@FEW
@given(pomdp=pomdps(), seed=SEEDS, steps=st.integers(1, 4))
def test_proposition_3_reward_predictive_states_move_by_their_parameters(pomdp, seed, steps):
    *history, (a, o) = random_history(pomdp, seed, steps)
    model = rpsr(pomdp)
    view = CoreView(model)
    assume(view.condition_number < 1e4)
    before, after = (view.state(state_after(model, h)) for h in (history, [*history, (a, o)]))
    step = Intent(Test(()).after(pomdp.actions[a], pomdp.observations[o]), ZETA)
    moved = before @ view.M(a, o) / (before @ view.m(step))
    assert moved == pytest.approx(after, abs=1e-8 * size(pomdp))
    # M_ao's columns are the parameters of the members' extensions.
    extended = [m.after(pomdp.actions[a], pomdp.observations[o]) for m in _members(pomdp)]
    columns = np.stack([view.m(intent) for intent in extended], axis=1)
    assert view.M(a, o) == pytest.approx(columns, abs=1e-8 * size(pomdp))


def _members(pomdp: POMDP) -> tuple[Intent, ...]:
    return tuple(m for m in find_core(pomdp, "rpsr").members if isinstance(m, Intent))


@FEW
@given(pomdp=pomdps())
def test_the_reward_matrix_holds_the_parameters_of_bare_actions(pomdp):
    view = CoreView(rpsr(pomdp))
    assume(view.condition_number < 1e4)
    columns = np.stack([view.m(Intent(Test(), a)) for a in pomdp.actions], axis=1)
    rewards = view.R
    assert rewards == pytest.approx(columns, abs=1e-8 * size(pomdp))
    core = find_core(pomdp, "rpsr")
    assert approximate_rewards(core, pomdp.R) == pytest.approx(columns, abs=1e-7 * size(pomdp))


# ---- value iteration


@FEW
@given(pomdp=pomdps(), seed=SEEDS, steps=STEPS, horizon=st.integers(1, 3))
def test_the_value_of_a_policy_tree_is_linear_in_every_state(pomdp, seed, steps, horizon):
    history = random_history(pomdp, seed, steps)
    tree = random_tree(pomdp, np.random.default_rng(seed), horizon)
    value = value_of(pomdp, belief_after(pomdp, history), tree, 0.9)
    for model in (pomdp.belief_model(), rpsr(pomdp)):
        alpha = alpha_of(model, tree, 0.9)
        assert state_after(model, history) @ alpha == pytest.approx(value, abs=1e-8 * size(pomdp))


@FEW
@given(pomdp=pomdps(), seed=SEEDS, horizon=st.integers(1, 3))
def test_a_psr_values_a_policy_tree_as_the_reconstructed_rewards_do(pomdp, seed, horizon):
    tree, model = random_tree(pomdp, np.random.default_rng(seed), horizon), psr(pomdp)
    gap = pomdp.R - reconstruct(find_core(pomdp, "psr"), pomdp.R)
    belief = pomdp.belief_model()
    alphas = [alpha_of(m, tree, 0.9) for m in (belief, belief.with_rewards(pomdp.R - gap))]
    value = float(model.start @ alpha_of(model, tree, 0.9))
    assert value == pytest.approx(pomdp.start @ alphas[1], abs=1e-8 * size(pomdp))
    if find_core(pomdp, "psr").accurate:
        assert value == pytest.approx(pomdp.start @ alphas[0], abs=1e-8 * size(pomdp))
