"""A filter on a wrong model: it continues, and its predictions are probabilities."""

from copy import copy
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rpsr import domains, rpsr
from rpsr.errors import ImpossibleObservation
from rpsr.models import DenseOperators, LinearModel, RobustBatch, RobustFilter, Unknown
from rpsr.models import filter as filter_module
from rpsr.models.filter import alike, clipped


def garbage(numbers, n=2, scale=1.0):
    """A model of 2 actions and 2 observations whose parameters mean nothing."""
    values = np.resize(np.array(numbers, dtype=np.float64), 4 * n * n + 2 * n + 2 * n) * scale
    cut = np.split(values, [4 * n * n, 4 * n * n + n, 4 * n * n + 2 * n])
    return LinearModel(
        kind="learned",
        name="garbage",
        actions=("a", "b"),
        observations=("x", "y"),
        start=cut[1],
        operators=DenseOperators(cut[0].reshape(2, 2, n, n)),
        normalizer=cut[2],
        rewards=np.clip(cut[3], -1e100, 1e100).reshape(n, 2),
        discount=0.9,
        domain=Unknown(),
    )


HUGE = st.floats(allow_nan=False, allow_infinity=False)  # models refuse the rest


@given(
    st.lists(
        st.one_of(st.floats(-2, 2), HUGE, st.sampled_from([0.0, 1.7e308])),
        min_size=1,
        max_size=24,
    ),
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=20),
)
def test_garbage_never_gives_anything_but_probabilities(numbers, history):
    state = garbage(numbers).filter()
    assert isinstance(state, RobustFilter)
    for a, o in history:
        state.update(a, o)
        assert np.isfinite(state.state).all()
        for action in range(2):
            p = state.predict(action)
            assert (p >= 0).all()
            assert p.sum() == pytest.approx(1, abs=1e-12)
    assert np.isfinite(state.negative_mass)
    assert np.isfinite(state.memory).all()
    assert len(state.memory) == len(garbage(numbers).filter().memory)


def test_on_a_true_model_it_filters_like_any_other():
    belief = domains.build("tiger").belief_model()
    plain, robust = belief.filter(), RobustFilter(belief)
    for a, o in [("listen", 0), ("listen", 1), ("open-left", 0), ("listen", 0)]:
        np.testing.assert_allclose(plain.update(a, o), robust.update(a, o), atol=1e-15)
        np.testing.assert_allclose(plain.predict("listen"), robust.predict("listen"), atol=1e-15)
    assert (robust.resets, robust.negative_mass) == (0, 0)


def test_what_is_impossible_resets_and_replays():
    """In state 0, x is sure; y is sure after b. Seeing y after a cannot be."""
    model = garbage(np.zeros(1))
    operators = np.zeros((2, 2, 2, 2))
    operators[0, 0] = np.eye(2)  # a shows x and changes nothing
    operators[1, 1] = [[0, 1], [0, 1]]  # b shows y and leads to state 1
    model = LinearModel(
        "learned",
        "two",
        ("a", "b"),
        ("x", "y"),
        np.array([1.0, 0.0]),
        DenseOperators(operators),
        np.ones(2),
        np.zeros((2, 2)),
        0.9,
        Unknown(),
    )
    state = model.filter()
    assert isinstance(state, RobustFilter)
    assert state.update("b", "y").tolist() == [0, 1]
    # Back to [1, 0]; replaying b y gives [0, 1]; a y is impossible from there too: start again.
    assert state.update("a", "y").tolist() == [1, 0]
    assert state.resets == 1
    assert state.update("a", "x").tolist() == [1, 0]
    before = copy(state)
    after = state.after("b", "y")
    assert (state.state.tolist(), after.state.tolist()) == ([1, 0], [0, 1])
    assert before.state.tolist() == [1, 0]


def test_negative_mass_is_counted():
    model = garbage([0.0])
    operators = np.zeros((2, 2, 1, 1))
    operators[0, 0], operators[0, 1] = 1.25, -0.25
    model = LinearModel(
        "learned",
        "negative",
        ("a", "b"),
        ("x", "y"),
        np.ones(1),
        DenseOperators(operators),
        np.ones(1),
        np.zeros((1, 2)),
        0.9,
        Unknown(),
    )
    state = model.filter()
    state.update("a", "x")
    assert isinstance(state, RobustFilter)
    assert state.negative_mass == 0.25
    assert state.predict("a").tolist() == [1, 0]
    state.update("a", "x")
    state.update("b", "x")  # predicts nothing at all, so nothing negative either
    assert state.negative_mass == pytest.approx(0.5 / 3, rel=1e-15)


def test_five_interactions_are_replayed():
    """A state that counts its interactions: after a loss it has counted five, however many came.

    Action a moves on from count i to count i + 1; action b is impossible everywhere.
    """
    size = 12
    operators = np.zeros((2, 2, size, size))
    operators[0, 0] = np.eye(size, k=1)
    operators[0, 0, -1, -1] = 1
    start = np.eye(size)[0]
    model = LinearModel(
        "learned",
        "counter",
        ("a", "b"),
        ("x", "y"),
        start,
        DenseOperators(operators),
        np.ones(size),
        np.zeros((size, 2)),
        0.9,
        Unknown(),
    )
    state = model.filter()
    assert isinstance(state, RobustFilter)
    for count in range(1, 9):
        assert state.update("a", "x").argmax() == count
    state.update("b", "y")  # lost; so is the replay, at its last interaction
    assert (state.resets, state.state.argmax()) == (1, 0)
    state.start()
    for _ in range(3):
        state.update("a", "x")
    state._state = np.zeros(size)  # lost at the next update
    assert state.update("a", "x").argmax() == 4
    for _ in range(4):
        state.update("a", "x")
    state._state = np.zeros(size)
    assert state.update("a", "x").argmax() == 5


@pytest.mark.parametrize("make", [Unknown, None])
def test_a_reward_cannot_be_passed(make):
    model = domains.build("tiger").belief_model() if make is None else garbage([0.5])
    with pytest.raises(TypeError):
        model.filter().update(0, 0, 1.0)  # pyright: ignore


def test_clipping():
    assert clipped(np.array([0.5, -0.1, 0.5])).tolist() == [0.5, 0, 0.5]
    assert clipped(np.array([-1.0, np.nan])).tolist() == [0.5, 0.5]
    assert clipped(np.array([1e308, 1e308])).tolist() == [0.5, 0.5]


def one_by_one(model, actions, seen, closer=1.0):
    """States (T, B, n) of a filter for each history; closer: both limits of its rule, scaled."""
    states = []
    with (
        patch.object(filter_module, "IMPOSSIBLE", closer * filter_module.IMPOSSIBLE),
        patch.object(filter_module, "LARGEST", closer * filter_module.LARGEST),
    ):
        alone = [RobustFilter(model) for _ in actions[0]]
        for step in zip(actions.tolist(), seen.tolist(), strict=True):
            for one, a, o in zip(alone, *step, strict=True):
                one.update(a, o)
            states.append([one.state for one in alone])
    return np.array(states)


@given(st.lists(st.floats(-2, 2), min_size=1, max_size=24), st.integers(0, 2**32 - 1))
def test_histories_in_step_are_filtered_as_one_by_one(numbers, seed):
    """However wrong the model: each history has the state that its own filter would have.

    Where a limit of the rule is met exactly, rounding decides: such models are left out.
    """
    model = garbage(numbers)
    n_actions, n_observations, _ = model.operators.shape
    rng = np.random.default_rng(seed)
    actions = rng.integers(n_actions, size=(12, 4))
    seen = rng.integers(n_observations, size=(12, 4))
    expected = one_by_one(model, actions, seen)
    for closer in (1 - 1e-9, 1 + 1e-9):
        assume(np.allclose(one_by_one(model, actions, seen, closer), expected, rtol=1e-7))
    together = RobustBatch(model, 4)
    for a, o, states in zip(actions, seen, expected, strict=True):
        together.update(a, o)
        np.testing.assert_allclose(together.states, states, rtol=1e-7, atol=1e-9)


def test_a_learned_model_with_corners_survives_the_impossible():
    belief = domains.build("tiger:accuracy=1").belief_model()
    learned = replace(belief, estimator="somebody")
    assert learned.estimated
    assert not belief.estimated
    state = learned.filter()
    state.update("listen", 0)
    state.update("listen", 1)  # cannot be, and is the newer news
    assert np.isfinite(state.state).all()
    strict = belief.filter()
    strict.update("listen", 0)
    with pytest.raises(ImpossibleObservation):
        strict.update("listen", 1)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6)), max_size=30))
def test_interactions_that_are_alike_come_together(pairs):
    """Each action and observation once, in ascending order, and every place of it, ascending."""
    actions, seen = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    groups = [(a, o, rows.tolist()) for a, o, rows in alike(actions, seen)]
    places = {pair: [i for i, other in enumerate(pairs) if other == pair] for pair in pairs}
    assert groups == [(a, o, places[a, o]) for a, o in sorted(places)]


@pytest.mark.parametrize("name", ["tiger", "cheese"])
def test_moving_a_state_and_a_batch_is_the_same_step(name):
    """What `moved` says of a state is P(o | x, a) and the state that `update` then divides."""
    for model in (domains.build(name).belief_model(), rpsr(domains.build(name))):
        states = np.tile(model.start, (3, 1))
        for a, o in np.ndindex(len(model.actions), len(model.observations)):
            after, chance = model.moved(model.start, a, o)
            afters, chances = model.moved(states, a, o)
            np.testing.assert_allclose(afters, np.tile(after, (3, 1)), rtol=1e-14, atol=1e-300)
            np.testing.assert_allclose(chances, chance, rtol=1e-14)
            np.testing.assert_allclose(model.predict(model.start, a)[o], chance, atol=1e-14)
            if chance > model.rounding:
                assert (model.update(model.start, a, o) == after / chance).all()
