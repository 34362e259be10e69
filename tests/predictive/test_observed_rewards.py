"""Observations that show rewards: the same process, other knowledge, another control problem."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.builders import Sizes, random_arrays
from tests.predictive.exact_accuracy import pomdps
from tests.predictive.histories import best_value, random_history
from tests.predictive.small_models import two_doors
from tests.strategies import few, records

from rpsr.domains import build
from rpsr.models.pomdp import POMDP
from rpsr.predictive import find_core, psr, reward_aware, reward_aware_psr, rpsr
from rpsr.testing import check_model

FEW = settings(max_examples=few(30))
MODELS = st.one_of(pomdps(), records(exact=False).map(POMDP))


def pairs_by_hand(pomdp: POMDP) -> dict[tuple[int, int, int, int, float], float]:
    """Pr(s', o, r | s, a), summed over outcomes."""
    o, table = pomdp.outcomes, {}
    columns = (o.action, o.state, o.next_state, o.observation, o.reward, o.probability)
    for a, s, t, x, r, p in zip(*(column.tolist() for column in columns), strict=True):
        table[a, s, t, x, r] = table.get((a, s, t, x, r), 0.0) + p
    return table


@FEW
@given(MODELS)
def test_each_observation_is_a_pair_with_the_probability_of_both(pomdp):
    seen = reward_aware(pomdp)
    truth = pairs_by_hand(pomdp)
    pairs = {}
    for (a, s, t, pair, r), p in pairs_by_hand(seen).items():
        name, _, reward = seen.observations[pair].rpartition("|")
        assert float(Fraction(reward)) == r
        pairs[a, s, t, pomdp.observations.index(name), r] = p
    assert pairs == pytest.approx(truth)


@FEW
@given(MODELS)
def test_only_pairs_that_occur_are_observations_in_order(pomdp):
    seen = reward_aware(pomdp)
    assert set(np.unique(seen.outcomes.observation).tolist()) == set(range(len(seen.observations)))
    keys = {}
    for _, _, _, pair, r in pairs_by_hand(seen):
        name = seen.observations[pair].rpartition("|")[0]
        keys[pair] = (pomdp.observations.index(name), r)
    assert [keys[pair] for pair in sorted(keys)] == sorted(keys.values())


@FEW
@given(MODELS)
def test_states_actions_rewards_and_moves_stay_as_they_are(pomdp):
    seen = reward_aware(pomdp)
    assert (seen.states, seen.actions, seen.discount) == (
        pomdp.states,
        pomdp.actions,
        pomdp.discount,
    )
    assert pytest.approx(pomdp.R, abs=1e-12 * (1 + np.abs(pomdp.R).max())) == seen.R
    for a in range(len(pomdp.actions)):
        before, after = (sum(m.D[a]).toarray() for m in (pomdp, seen))
        assert after == pytest.approx(before)
    assert np.array_equal(seen.start, pomdp.start)


@FEW
@given(records(exact=True).map(POMDP))
def test_what_was_exact_stays_exact(pomdp):
    seen = reward_aware(pomdp)
    assert seen.exact
    assert seen.exact_rewards() == pomdp.exact_rewards()


def test_what_was_known_in_floats_stays_so():
    seen = reward_aware(POMDP.from_arrays(*random_arrays(1, Sizes(2, 3, 2))))
    assert not seen.exact
    assert not find_core(seen, "psr").certified


@FEW
@given(pomdps())
def test_a_reward_aware_psr_is_always_accurate_and_knows_no_less(pomdp):
    # R(s, a) is the sum over pairs of the reward times the probability of the pair.
    core = find_core(reward_aware(pomdp), "psr")
    assert core.accurate
    assert core.rank >= find_core(pomdp, "rpsr").rank


@FEW
@given(pomdp=pomdps(), seed=st.integers(0, 2**32 - 1))
def test_the_model_predicts_what_the_transformed_beliefs_predict(pomdp, seed):
    seen = reward_aware(pomdp)
    model, belief = reward_aware_psr(pomdp), seen.belief_model()
    x, b = model.start, belief.start
    for a, o in random_history(seen, seed, 10):
        for action in seen.actions:
            assert model.predict(x, action) == pytest.approx(belief.predict(b, action), abs=1e-9)
        x, b = model.update(x, a, o), belief.update(b, a, o)


def test_rewards_that_show_the_load():
    pomdp = build("loadunload")
    seen = reward_aware(pomdp)
    assert seen.observations == (
        *("loading|0", "loading|1", "unloading|0", "unloading|1", "travel|0", "travel|1"),
    )
    assert [find_core(pomdp, kind).rank for kind in ("psr", "rpsr")] == [5, 9]
    assert find_core(seen, "psr").rank == 10
    check_model(reward_aware_psr(pomdp), histories=2)


# ---- how the control problem changes


@pytest.mark.parametrize(
    ("horizon", "unobserved", "observed"), [(1, 0.5, 0.5), (2, 1, 1.5), (5, 2.5, 4.5)]
)
def test_an_agent_that_sees_its_rewards_can_earn_more(horizon, unobserved, observed):
    pomdp = two_doors()
    seen = reward_aware(pomdp)
    assert best_value(pomdp, pomdp.start, horizon, 1.0) == pytest.approx(unobserved)
    assert best_value(seen, seen.start, horizon, 1.0) == pytest.approx(observed)


def test_the_rpsr_keeps_the_control_problem_and_the_reward_aware_psr_does_not():
    pomdp = two_doors()
    assert [m.dimension for m in (psr(pomdp), rpsr(pomdp), reward_aware_psr(pomdp))] == [1, 2, 2]
    assert rpsr(pomdp).observations == pomdp.observations
    assert reward_aware_psr(pomdp).observations == ("dark|0", "dark|1")


@FEW
@given(pomdp=pomdps())
def test_seeing_more_never_costs(pomdp):
    seen = reward_aware(pomdp)
    values = [best_value(m, m.start, 2, 0.9) for m in (pomdp, seen)]
    assert values[1] >= values[0] - 1e-9 * (1 + np.abs(pomdp.R).max())
