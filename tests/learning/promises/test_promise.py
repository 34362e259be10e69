"""Promises: bounds of returns hold as often as stated, and say when they say nothing."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t as student

import rpsr
from rpsr.errors import DataError
from rpsr.evaluation import simulate
from rpsr.learning import LastKTable, PreparedLog
from rpsr.learning.plan_choice.off_policy import Agreement
from rpsr.learning.promises.by_models import interval, models_promise, value_in
from rpsr.learning.promises.importance import importance_promise
from rpsr.learning.promises.promise import CONTRADICTION, behaviour_promise, promise
from rpsr.learning.promises.record import Allowed
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
    found = [promise(LISTENS, log) for log in logs]
    assert all(one.low <= LISTENED <= one.high for one in found)
    assert all(one.method == "importance" and one.low > one.least + 20 for one in found)


def test_the_rest_of_the_return_is_bounded_by_the_range_of_rewards():
    """Without a single agreeing episode, every return that rewards allow is possible."""
    log = uniform_log(5, 0)  # fewer episodes than must agree
    found = promise(LISTENS, log)
    low, high = (float(end) / 0.5 for end in (log.rewards.min(), log.rewards.max()))
    assert (found.low, found.high) == (low, high) == (found.least, found.most)
    assert found.vacuous
    assert "no lower bound" in found.words()


def test_recordings_that_are_cut_at_different_steps_do_not_bias_the_weights():
    log = uniform_log(400, 1)
    lengths = np.where(np.arange(400) % 2, 12, 1)
    kept = np.arange(log.steps) % 12 < np.repeat(lengths, 12)
    columns = ("actions", "observations", "rewards", "propensities")
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    cut = replace(log, offsets=offsets, **{name: getattr(log, name)[kept] for name in columns})
    allowed = Allowed.of(PreparedLog.of(cut).census, 0.5)
    agreement = Agreement.of(LISTENS, cut)
    assert agreement.complete == 1
    assert importance_promise(agreement, allowed, 0.95).high >= LISTENED


def test_the_behaviour_policy_is_promised_its_mean_return():
    truth = 2 * UNIFORM
    found = [behaviour_promise(uniform_log(100, seed), 0.5, level=0.9) for seed in range(100)]
    above = sum(one.low <= truth for one in found)
    below = sum(one.high >= truth for one in found)
    assert min(above, below) >= 82  # 90 expected; fewer than 82 with probability .005
    assert max(above, below) < 100  # and the bounds are not simply wide


def test_the_interval_of_models_is_that_of_the_formula():
    values = [np.array([3.0, 2.0, 4.0]), np.array([5.0, 5.0, 4.0])]
    middle, room = interval(values, 0.0, 0.95)
    assert middle == pytest.approx((3.0 + 4.5) / 2)
    parameters = student.ppf(0.95, 4) * np.sqrt((1 + 1 + 0 + 1) / 4)
    structure = student.ppf(0.95, 1) * np.std([3.0, 4.5], ddof=1) * np.sqrt(1.5)
    assert room == pytest.approx(np.hypot(parameters, structure))
    one, narrow = interval(values[:1], 0.0, 0.95)
    assert (one, narrow) == pytest.approx((3.0, student.ppf(0.95, 2)))


def test_the_value_in_the_true_model_is_the_true_value():
    value, error = value_in(MODEL, LISTENS, 0.5)
    assert (value, error) == pytest.approx((LISTENED, 0.0), abs=1e-9)
    value, error = value_in(MODEL, "uniform", 0.5, episodes=2000)
    assert abs(value - 2 * UNIFORM) < 4 * error


def test_models_that_agree_with_the_truth_give_bounds_around_it():
    log = PreparedLog.of(uniform_log(100, 3))
    families = LastKTable(discount=0.5, k=1).fit(log).families(log, 2, 2, seed=0)
    assert [len(family) for family in families] == [3]
    found = promise(LISTENS, log, families)
    assert (found.method, found.models) == ("models", 3)
    assert found.low <= LISTENED
    assert found.value == pytest.approx(LISTENED, abs=0.01)  # a table mixes in the mean reward
    assert found.document()["vacuous"] is False


def test_bounds_by_models_allow_for_the_steps_after_the_simulation():
    """A reward of 1 at every fourth step: its mean is a wrong guess for the steps to come."""
    moves = np.roll(np.eye(4), 1, axis=1)[None]
    rewards = np.array([[0.0, 0.0, 0.0, 1.0]])
    clock = POMDP.from_arrays(moves, np.ones((1, 4, 1)), rewards, [1, 0, 0, 0], 0.95)
    truth = 0.95**3 / (1 - 0.95**4)
    model = clock.belief_model()
    found = models_promise("uniform", [(model, model)], Allowed(0, 1, 0.95), 0.95)
    assert found.low <= truth <= found.high
    assert 0 < found.high - found.low < 0.01 * truth


def test_models_are_not_used_if_distrusted_or_contradicted():
    log = PreparedLog.of(uniform_log(300, 4))
    doubted = promise(LISTENS, log, [(MODEL, MODEL)], distrust="it is inconsistent")
    assert (doubted.method, doubted.reason) == ("importance", "it is inconsistent")
    wrong = replace(MODEL, rewards=np.full((2, 3), -90.0))
    assert models_promise(LISTENS, [(wrong, wrong)], Allowed(-100, 10, 0.5), 0.95).high < -170
    found = promise(LISTENS, log, [(wrong, wrong)])
    assert (found.method, found.reason) == ("importance", CONTRADICTION)


def test_bad_input_is_refused():
    log = uniform_log(5, 0)
    with pytest.raises(DataError, match="level: read 1"):
        promise(LISTENS, log, level=1)
    with pytest.raises(DataError, match="no rewards"):
        behaviour_promise(replace(log, rewards=None), 0.5)
    with pytest.raises(DataError, match="discount: read 1"):
        behaviour_promise(log, 1.0)
