"""Learned models are filtered along a log as the filters of `rpsr.models` do."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.models.test_filter import garbage, one_by_one
from tests.strategies import few

from rpsr.learning.estimated_models import filtered
from rpsr.logs import Trajectories
from rpsr.models.filter import RobustFilter


def log_of(model, seed, steps=8):
    """One episode of random actions and observations."""
    rng = np.random.default_rng(seed)
    actions = rng.integers(len(model.actions), size=steps)
    seen = rng.integers(len(model.observations), size=steps)
    return Trajectories(model.actions, model.observations, actions, seen, [0, steps], [False])


def check(model, log):
    result, state = filtered(model, log, states=True), RobustFilter(model)
    for t, (a, o) in enumerate(zip(log.actions.tolist(), log.observations.tolist(), strict=True)):
        np.testing.assert_allclose(result.states[t], state.state, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(result.predictions[t], state.predict(a), rtol=1e-7, atol=1e-9)
        state.update(a, o)
    assert result.resets == state.resets
    assert result.negative == pytest.approx(state.negative_mass * log.steps, rel=1e-7, abs=1e-9)


@settings(max_examples=few(40))
@given(st.lists(st.floats(-2, 2), min_size=1, max_size=24), st.integers(0, 2**32 - 1))
def test_the_compiled_filter_is_the_robust_filter(numbers, seed):
    """Where a limit of its rule is met exactly, rounding decides: such models are left out."""
    model = garbage(numbers)
    log = log_of(model, seed)
    done = [log.padded(name, -1).T for name in ("actions", "observations")]
    states = one_by_one(model, *done)
    for closer in (1 - 1e-9, 1 + 1e-9):
        assume(np.allclose(one_by_one(model, *done, closer), states, rtol=1e-7))
    check(model, log)


@pytest.mark.parametrize("start", [1e200, 1.7e308])
def test_a_model_with_a_huge_start_is_filtered_alike(start):
    """Sums of its predictions overflow."""
    model = garbage([0.3, -0.7, 1.1, 0.4])
    check(replace(model, start=np.full(model.dimension, start)), log_of(model, 0))
