"""Promises: bounds of returns hold as often as stated, and say when they say nothing."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import t as student

import rpsr
from rpsr.errors import DataError
from rpsr.evaluation import simulate
from rpsr.learning import LastKTable, PreparedLog
from rpsr.learning.plan_choice.off_policy import Agreement
from rpsr.learning.promises.by_models import interval, models_promise, play, value_in
from rpsr.learning.promises.importance import importance_promise
from rpsr.learning.promises.make_promise import CONTRADICTION, behaviour_promise, promise
from rpsr.learning.promises.promise import EQUAL, ReturnRange
from rpsr.models import POMDP
from rpsr.planning import AlphaPolicy

TIGER = rpsr.load_pomdp("tiger").with_discount("0.5")
MODEL = TIGER.belief_model()
LISTENS = AlphaPolicy(MODEL, np.zeros((1, 2)), actions=np.array([0]))  # -1 per step: -2 in all
LISTENED = -2.0
UNIFORM = (-1 - 45 - 45) / 3  # per step: listening, and two doors of -45 on average


def uniform_log(episodes, seed, steps=12):
    return simulate(
        TIGER,
        "uniform",
        episodes=episodes,
        steps=steps,
        seed=seed,
        rewards=True,
        propensities=True,
    )


def test_bounds_by_importance_weighting_hold_and_are_not_empty():
    logs = [uniform_log(400, seed) for seed in range(20)]
    promises = [promise(LISTENS, log) for log in logs]
    assert all(one.low <= LISTENED <= one.high for one in promises)
    assert all(one.method == "importance" and one.low > one.least + 20 for one in promises)


def test_the_rest_of_the_return_is_bounded_by_the_range_of_rewards():
    """Without a single agreeing episode, every return that rewards allow is possible."""
    log = uniform_log(5, 0)  # fewer episodes than must agree
    promised = promise(LISTENS, log)
    low, high = (float(end) / 0.5 for end in (log.rewards.min(), log.rewards.max()))
    assert (promised.low, promised.high) == (low, high) == (promised.least, promised.most)
    assert promised.vacuous
    assert "no lower bound" in promised.words()
    assert promised.value is None  # the middle of the range of rewards would be no estimate
    assert promised.about() == "-"
    assert promised.document()["value"] is None


def test_recordings_that_are_cut_at_different_steps_do_not_bias_the_weights():
    log = uniform_log(400, 1)
    lengths = np.where(np.arange(400) % 2, 12, 1)
    kept = np.arange(log.steps) % 12 < np.repeat(lengths, 12)
    columns = ("actions", "observations", "rewards", "propensities")
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    cut = replace(log, offsets=offsets, **{name: getattr(log, name)[kept] for name in columns})
    allowed = ReturnRange.of(PreparedLog.of(cut).census, 0.5)
    agreement = Agreement.of(LISTENS, cut)
    assert agreement.complete == 1
    assert importance_promise(agreement, allowed, 0.95).high >= LISTENED


def test_the_behaviour_policy_is_promised_its_mean_return():
    truth = 2 * UNIFORM
    promises = [behaviour_promise(uniform_log(100, seed), 0.5, level=0.9) for seed in range(100)]
    above = sum(one.low <= truth for one in promises)
    below = sum(one.high >= truth for one in promises)
    assert min(above, below) >= 82  # 90 expected; fewer than 82 with probability .005
    assert max(above, below) < 100  # and the bounds are not simply wide


def test_the_interval_of_models_is_that_of_the_formula():
    values = [[np.array([3.0, 2.0, 4.0])], [np.array([5.0, 5.0, 4.0])]]
    middle, room = interval(values, 0.0, 0.95)
    assert middle == pytest.approx((3.0 + 4.5) / 2)
    parameters = student.ppf(0.95, 4) * np.sqrt((1 + 1 + 0 + 1) / 4)
    structure = student.ppf(0.95, 1) * np.std([3.0, 4.5], ddof=1) * np.sqrt(1.5)
    assert room == pytest.approx(np.hypot(parameters, structure))
    one, narrow = interval(values[:1], 0.0, 0.95)
    assert (one, narrow) == pytest.approx((3.0, student.ppf(0.95, 2)))


def test_models_of_one_search_are_no_independent_evidence():
    """Six models of three searches: two degrees of freedom, and the spread within searches, too."""
    means = [[1.0, 3.0], [5.0, 5.0], [2.0, 8.0]]
    values = [[np.array([mean, mean]) for mean in search] for search in means]
    middle, room = interval(values, 0.0, 0.95)
    between, within = np.var([2.0, 5.0, 5.0], ddof=1), (1 + 0 + 9) / 3
    assert middle == pytest.approx(4)
    expected = student.ppf(0.95, 2) * np.sqrt((between + within) * (1 + 1 / 3))
    assert room == pytest.approx(expected)
    pooled = [[family] for search in values for family in search]
    assert room > 1.3 * interval(pooled, 0.0, 0.95)[1]


def test_values_in_fits_are_those_of_the_whole_log():
    def run(reward):
        model = replace(MODEL, rewards=np.full((2, 3), reward))
        return play(model, LISTENS, 0.5)

    low, high, half = run(-4.0), run(-3.0), run(-1.0)
    promised = models_promise(
        [[[low, half], [high, half]], [[half, half]]], ReturnRange(-100, 10, 0.5), 0.95
    )
    assert promised.in_fits == pytest.approx((-8, -6), rel=1e-2)
    assert promised.in_models == pytest.approx((-8, -2), rel=1e-2)
    assert promised.document()["in_fits"] == list(promised.in_fits)


def test_the_value_in_the_true_model_is_the_true_value():
    value, error = value_in(MODEL, LISTENS, 0.5)
    assert (value, error) == pytest.approx((LISTENED, 0.0), abs=1e-9)
    value, error = value_in(MODEL, "uniform", 0.5, episodes=2000)
    assert abs(value - 2 * UNIFORM) < 4 * error


def test_models_that_agree_with_the_truth_give_bounds_around_it():
    log = PreparedLog.of(uniform_log(100, 3))
    families = LastKTable(discount=0.5, k=1).fit(log).families(log, 2, 2, seed=0)
    assert [len(family) for family in families] == [3]
    promised = promise(LISTENS, log, [families])
    assert (promised.method, promised.models) == ("models", 3)
    assert promised.low <= LISTENED
    assert promised.value == pytest.approx(LISTENED, abs=0.01)  # a table mixes in the mean reward
    assert promised.document()["vacuous"] is False


def test_bounds_by_models_allow_for_the_steps_after_the_simulation():
    """A reward of 1 at every fourth step: its mean is a wrong guess for the steps to come."""
    moves = np.roll(np.eye(4), 1, axis=1)[None]
    rewards = np.array([[0.0, 0.0, 0.0, 1.0]])
    clock = POMDP.from_arrays(moves, np.ones((1, 4, 1)), rewards, [1, 0, 0, 0], 0.95)
    truth = 0.95**3 / (1 - 0.95**4)
    model = clock.belief_model()
    run = play(model, "uniform", 0.95)
    promised = models_promise([[[run, run]]], ReturnRange(0, 1, 0.95), 0.95)
    assert promised.low <= truth <= promised.high
    assert 0 < promised.high - promised.low < 0.01 * truth


def test_models_are_not_used_if_distrusted_or_contradicted():
    log = PreparedLog.of(uniform_log(300, 4))
    doubted = promise(LISTENS, log, [[(MODEL, MODEL)]], distrust="it is inconsistent")
    assert (doubted.method, doubted.reason) == ("importance", "it is inconsistent")
    wrong = replace(MODEL, rewards=np.full((2, 3), -90.0))
    run = play(wrong, LISTENS, 0.5)
    assert models_promise([[[run, run]]], ReturnRange(-100, 10, 0.5), 0.95).high < -170
    promised = promise(LISTENS, log, [[(wrong, wrong)]])
    assert (promised.method, promised.reason) == ("importance", CONTRADICTION)


def test_equal_rewards_promise_nothing():
    log = uniform_log(20, 0)
    constant = replace(log, rewards=np.full(log.steps, 5.0))
    for promised in (promise(LISTENS, constant), behaviour_promise(constant, 0.5)):
        assert promised.equal
        assert promised.words() == EQUAL


def test_bad_input_is_refused():
    log = uniform_log(5, 0)
    with pytest.raises(DataError, match="level: read 1"):
        promise(LISTENS, log, level=1)
    with pytest.raises(DataError, match="no rewards"):
        behaviour_promise(replace(log, rewards=None), 0.5)
    with pytest.raises(DataError, match="discount: read 1"):
        behaviour_promise(log, 1.0)


@pytest.mark.parametrize("steps", range(1, 13))
def test_a_bound_that_says_nothing_is_vacuous_whatever_rounding_does(steps):
    for least in (-0.3, -1.0, -7.7):
        allowed = ReturnRange(least, 1.0, 0.9)
        agreement = SimpleNamespace(
            weights=np.ones((20, steps)),
            rewards=np.full((20, steps), least),
            complete=steps,
            largest_weights=lambda steps: np.ones(steps),
        )
        promised = importance_promise(agreement, allowed, 0.95)
        assert promised.vacuous
        assert promised.value is None
