"""The linear model and its filter: Bayes' rule, names, impossible observations, shapes."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.models.builders import bayes, dense_process, pomdps

from rpsr import Filter, ImpossibleObservation, InputError, LinearModel
from rpsr.domains import build
from rpsr.models import DenseOperators, Simplex, Unknown
from rpsr.models.renaming import END, renamed


def coin(**changes) -> LinearModel:
    """A coin of unknown bias, thrown or looked at."""
    heads = np.diag([0.9, 0.2])
    given = {
        "kind": "belief",
        "name": "coin",
        "actions": ("throw",),
        "observations": ("heads", "tails"),
        "start": np.array([0.5, 0.5]),
        "operators": DenseOperators(np.array([[heads, np.eye(2) - heads]])),
        "normalizer": np.ones(2),
        "rewards": np.array([[1.0], [0.0]]),
        "discount": 0.9,
        "domain": Simplex(2),
    }
    return LinearModel(**given | changes)


# ---- Bayes


@given(pomdps(), st.integers(0, 2**32 - 1))
def test_the_filter_is_bayes_rule_on_random_models(pomdp, seed):
    follow(pomdp, seed, steps=8)


@pytest.mark.parametrize("name", ["tiger", "4x3", "paint", "heavenhell", "shuttle", "floatreset"])
def test_the_filter_is_bayes_rule_on_built_in_domains(name):
    follow(build(name), seed=1, steps=30)


def follow(pomdp, seed, steps):
    rng, D, belief = np.random.default_rng(seed), dense_process(pomdp), pomdp.start
    running = pomdp.belief_model().filter()
    for _ in range(steps):
        action = int(rng.integers(len(pomdp.actions)))
        branches = [bayes(D, belief, action, o) for o in range(len(pomdp.observations))]
        chances = np.array([chance for chance, _ in branches])
        np.testing.assert_allclose(running.predict(action), chances, atol=1e-12)
        observation = int(rng.choice(len(chances), p=chances / chances.sum()))
        belief = branches[observation][1]
        running.update(pomdp.actions[action], observation)
        np.testing.assert_allclose(running.state, belief, atol=1e-10)


def test_two_throws_of_the_coin_by_hand():
    running = coin().filter()
    assert running.predict("throw").tolist() == pytest.approx([0.55, 0.45])
    assert running.update("throw", "heads").tolist() == pytest.approx([9 / 11, 2 / 11])
    assert running.predict("throw")[0] == pytest.approx((0.9 * 9 + 0.2 * 2) / 11)


def test_expected_rewards_are_linear_in_the_state():
    assert coin().expected_rewards(np.array([0.25, 0.75])).tolist() == [0.25]


# ---- names and indices


def test_names_and_indices_say_the_same():
    by_name, by_index = coin().filter(), coin().filter()
    assert np.array_equal(by_name.predict("throw"), by_index.predict(np.int64(0)))
    assert np.array_equal(by_name.update("throw", "tails"), by_index.update(0, 1))


@pytest.mark.parametrize(
    ("action", "observation", "message"),
    [
        ("trow", "heads", "no action is called 'trow'; did you mean 'throw'"),
        ("throw", "tail", "no observation is called 'tail'; did you mean 'tails'"),
        ("throw", "zzz", "no observation is called 'zzz'; the names are 'heads', 'tails'"),
        (1, 0, "action: read 1, expected an index from 0 to 0"),
        (0, -1, "observation: read -1, expected an index from 0 to 1"),
        (0, 0.0, "observation: read 0.0, expected a name or an index"),
        (0, True, "observation: read True, expected an index from 0 to 1"),
        (0, None, "observation: read None, expected a name or an index"),
    ],
)
def test_a_wrong_label_is_answered_with_the_right_ones(action, observation, message):
    with pytest.raises(InputError, match=re.escape(message)):
        coin().filter().update(action, observation)


# ---- the filter


def test_an_impossible_observation_is_named_and_changes_nothing():
    running = build("4x3").belief_model().filter()
    running.update("n", "good")
    before = running.state
    message = "observation 'good' cannot follow action 's' here: its probability is 0"
    with pytest.raises(ImpossibleObservation, match=message):
        running.update("s", "good")
    assert running.state is before


def test_a_probability_within_rounding_counts_as_impossible():
    model = coin(rounding=0.46)
    with pytest.raises(ImpossibleObservation, match="'tails' cannot follow action 'throw'"):
        model.filter().update("throw", "tails")
    assert model.filter().update("throw", "heads").sum() == pytest.approx(1)


def test_a_probability_that_underflows_is_no_division_by_zero():
    rare = np.full((2, 2), 2.0**-1074)  # half of it is 0, half of the sum of two is not
    model = coin(operators=DenseOperators(np.array([[rare, np.eye(2) - rare]])))
    assert model.predict(model.start, "throw")[0] > 0
    with pytest.raises(ImpossibleObservation):
        model.filter().update("throw", "heads")


def test_start_forgets():
    running = Filter(coin())
    running.update("throw", "heads")
    assert np.array_equal(running.start(), [0.5, 0.5])
    assert np.array_equal(running.state, [0.5, 0.5])


def test_predicting_changes_nothing():
    running = coin().filter()
    running.predict("throw")[:] = 0
    assert np.array_equal(running.state, [0.5, 0.5])


def test_a_state_handed_out_cannot_be_written():
    running = coin().filter()
    for state in (running.start(), running.update("throw", "heads"), running.state):
        with pytest.raises(ValueError, match="read-only"):
            state[0] = 1


# ---- construction


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"actions": ("a", "b")}, "actions: read shape 2, expected 1"),
        ({"observations": ("o",)}, "observations: read shape 1, expected 2"),
        ({"start": np.ones(3)}, "start: read shape (3,), expected (2,)"),
        ({"normalizer": np.ones((2, 1))}, "normalizer: read shape (2, 1), expected (2,)"),
        ({"rewards": np.ones((1, 2))}, "rewards: read shape (1, 2), expected (2, 1)"),
        ({"discount": 2.0}, "discount: read 2.0, expected a number in [0, 1]"),
        ({"rounding": -1e-9}, "rounding: read -1e-09, expected a number in [0, 1)"),
        ({"rounding": float("nan")}, "rounding: read nan, expected a number in [0, 1)"),
    ],
)
def test_parts_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(InputError, match=re.escape(message)):
        coin(**changes)


def test_a_model_owns_its_arrays():
    start = np.array([0.5, 0.5])
    model = coin(start=start)
    start[0] = 7
    assert model.start.tolist() == [0.5, 0.5]
    for array in (model.start, model.normalizer, model.rewards, model.emissions):
        assert not array.flags.writeable


def test_discounts_are_checked_and_leave_the_rest():
    model = coin(domain=Unknown())
    assert model.with_discount("1/2").discount == 0.5
    assert model.with_discount(None).discount is None
    assert model.with_discount(0.1 + 0.2).discount == 0.1 + 0.2
    with pytest.raises(InputError, match="discount"):
        model.with_discount(-1)


def test_other_rewards_must_fit_too():
    model = coin().with_rewards(np.array([[0.0], [2.0]]))
    assert model.expected_rewards(model.start).tolist() == [1.0]
    with pytest.raises(InputError, match="rewards: read shape"):
        coin().with_rewards(np.ones(2))


def test_repr_names_the_kind():
    assert str(coin()) == "<belief model of 'coin': dimension 2, 1 action, 2 observations>"
    assert repr(coin()).splitlines()[0] == str(coin())


def test_the_belief_model_is_the_pomdp():
    tiger = build("tiger")
    model = tiger.belief_model()
    assert model.kind == "belief"
    assert (model.actions, model.observations) == (tiger.actions, tiger.observations)
    assert np.array_equal(model.rewards, tiger.R)
    assert np.array_equal(model.start, tiger.start)
    assert model.normalizer.tolist() == [1, 1]
    assert model.domain == Simplex(2)
    assert model.discount == 0.95
    assert model.pomdp == tiger.digest


def test_provenance_decides_nothing():
    described = coin(provenance={"estimator": "somebody", "pomdp": "0", "final": ["heads"]})
    assert not described.estimated
    assert (described.estimator, described.final, described.pomdp) == (None, (), None)


def test_the_origin_has_fields_and_provenance():
    learned = coin(estimator="somebody", final=("heads",), pomdp="0", provenance={"seed": 3})
    assert learned.estimated
    expected = {"pomdp": "0", "estimator": "somebody", "final": ["heads"], "seed": 3}
    assert learned.origin() == expected
    assert coin().origin() == {}


def test_names_of_ends_follow_the_names_of_observations():
    learned = coin(final=("heads", "tails"), domain=Unknown())
    assert renamed(learned, ("throw",), ("tails", "edge", "heads")).final == ("heads", "tails")
    ended = coin(observations=("heads", END), final=(END,), domain=Unknown())
    assert renamed(ended, ("throw",), ("heads", "tails")).final == ()
