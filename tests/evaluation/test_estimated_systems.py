"""Estimated models as systems: simulated as their filter reads them, whatever they predict."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from tests.models.test_filter import garbage, one_by_one
from tests.strategies import few

from rpsr.domains.catalogue import build
from rpsr.evaluation import evaluate, exact_return, returns, simulate
from rpsr.evaluation.episode_returns import recorded_returns
from rpsr.models import DenseOperators, LinearModel, Unknown


@settings(max_examples=few(40))
@given(st.lists(st.floats(-2, 2), min_size=1, max_size=24), st.integers(0, 2**32 - 1))
def test_episodes_are_those_of_the_robust_filter(numbers, seed):
    """Every observation was possible to it, and it expected every reward.

    Where a limit of its rule is met exactly, rounding decides: such models are left out.
    """
    model = garbage(numbers)
    log = simulate(model, "uniform", episodes=5, steps=8, seed=seed, rewards=True)
    done = [log.padded(name, -1).T for name in ("actions", "observations")]
    states = one_by_one(model, *done)
    for closer in (1 - 1e-9, 1 + 1e-9):
        assume(np.allclose(one_by_one(model, *done, closer), states, rtol=1e-7))
    for episode in log:
        state = model.filter()
        for a, o, paid in zip(
            episode.actions.tolist(), episode.observations.tolist(), episode.rewards, strict=True
        ):
            assert state.predict(a)[o] > 0
            assert paid == pytest.approx(state.state @ model.rewards[:, a], rel=1e-7, abs=1e-9)
            state.update(a, o)
    np.testing.assert_allclose(
        returns(log, model), recorded_returns(log, model.discount), rtol=1e-7, atol=1e-9
    )


def overdrawn() -> LinearModel:
    """One state; its action shows x, y or z with probabilities 1, 0.5 and -0.5."""
    operators = np.array([1.0, 0.5, -0.5]).reshape(1, 3, 1, 1)
    return LinearModel(
        "learned",
        "overdrawn",
        ("a",),
        ("x", "y", "z"),
        np.ones(1),
        DenseOperators(operators),
        np.ones(1),
        np.ones((1, 1)),
        0.5,
        Unknown(),
    )


def test_probabilities_below_zero_count_as_zero_and_the_rest_is_divided_by_its_sum():
    log = simulate(overdrawn(), "uniform", episodes=300, steps=10, seed=1)
    counts = np.bincount(log.observations, minlength=3)
    assert counts[2] == 0
    assert chisquare(counts[:2], [2000, 1000]).pvalue > 1e-3


def test_the_returns_of_an_inconsistent_model_are_evaluated():
    (row,) = evaluate(overdrawn(), "uniform", episodes=50, steps=4)
    assert row.mean == pytest.approx(1 + 0.5 + 0.25 + 0.125)


def test_there_is_no_exact_return_where_a_simulation_corrects_the_model():
    """A linear system would take the negative probability as it is: here 4.79, not 2.59."""
    operators = np.array([[[[0.6, 0.0], [0.6, 0.6]], [[0.0, 0.6], [-0.2, 0.0]]]])
    model = LinearModel(
        "learned",
        "inconsistent",
        ("a",),
        ("x", "y"),
        np.array([0.5, 0.5]),
        DenseOperators(operators),
        np.ones(2),
        np.array([[0.0], [1.0]]),
        0.9,
        Unknown(),
    )
    assert exact_return(model, "uniform", steps=20) is None
    known = build("tiger")
    assert exact_return(known, "uniform", steps=3) is not None
    estimated = replace(known.belief_model(), domain=Unknown())
    assert exact_return(known, "uniform", steps=3, rewards=estimated) is None
    (row,) = evaluate(model, "uniform", episodes=20, steps=4)
    assert row.exact is None
