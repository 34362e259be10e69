"""Moments of tasks that end, in recordings that are cut off: ends are as likely as they are."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from tests.learning.worlds import EARNED, ENDING, coin_log

from rpsr.errors import InputError
from rpsr.learning import (
    Moments,
    PreparedLog,
    SpectralRPSR,
    Survey,
    WindowPlan,
    hankel,
)
from rpsr.learning.ends import with_end
from rpsr.learning.estimator_names import ESTIMATORS, estimator_by_name
from rpsr.learning.moments.censoring import Censoring
from rpsr.logs import from_arrays
from rpsr.logs.readers import join

DISCOUNT = 0.9


@pytest.mark.parametrize("steps", [4, 6, [4, 7, 12]])
@pytest.mark.parametrize("name", ESTIMATORS.own)
def test_recordings_that_are_cut_off_do_not_make_ends_more_likely(name, steps):
    """Of windows that begin just before a recording is cut, only those that end are complete."""
    lengths = [steps] if isinstance(steps, int) else steps
    log = join([coin_log(1200 // len(lengths), 9, length) for length in lengths])
    model = estimator_by_name(name, discount=DISCOUNT).fit(log).model_
    state = model.filter()
    state.update("rest", "head")
    for action, chance in ENDING.items():
        # Of four steps only the first is one that a window begins at, and a quarter begins so.
        known = 3 * np.sqrt(chance * (1 - chance) / (1200 / 4))
        assert state.predict(action)[-1] == pytest.approx(chance, abs=known)


def word_chance(word):
    """The probability of a coin given an action, in a task that continues."""
    chance, over = 1.0, False
    for code in word:
        action, seen = divmod(code, 3)
        ends = list(ENDING.values())[action]
        chance *= seen == 2 if over else ends if seen == 2 else (1 - ends) / 2
        over = over or seen == 2
    return chance


@pytest.mark.parametrize("cut", [lambda rng: rng.geometric(0.2), lambda rng: rng.choice([1, 5, 9])])
def test_moments_are_those_of_the_task_whenever_recordings_are_cut(cut):
    """Every test after every history of a task that continues, in standard errors."""
    rng = np.random.default_rng(3)
    log = with_end(join([coin_log(1, seed, cut(rng)) for seed in range(6000)]))
    moments = Moments.of([log], WindowPlan.of(Survey.of([log]), behaviour="blind"))
    data = hankel(moments)
    features = [1] + [
        1 + k
        for k, word in enumerate(data.plan.histories)
        if word and all(code % 3 < 2 for code in word) and data.features[1 + k] * data.samples > 200
    ]
    tests = [i for i, word in enumerate(data.plan.tests) if word]
    truth = np.array([[word_chance(data.plan.tests[i])] for i in tests])
    values, variances = (
        array[0][np.ix_(tests, features)] for array in (data.values, data.variances)
    )
    errors = (values - truth * data.features[features]) / np.sqrt(variances)
    assert errors.size > 100
    assert np.sqrt((errors**2).mean()) == pytest.approx(1, abs=0.25)
    assert data.centres == pytest.approx(list(EARNED.values()), abs=1e-6)
    immediate = data.values[0, data.immediate][:, features]  # less the centres, which is nothing
    np.testing.assert_allclose(immediate, 0, atol=1e-8)


def test_moments_with_ends_and_cuts_add_up_and_come_back(tmp_path):
    log = with_end(join([coin_log(40, seed, steps) for seed, steps in enumerate((3, 5, 9))]))
    plan = WindowPlan.of(Survey.of([log]))
    whole = Moments.of([log], plan)
    parts = [Moments.of([log.select(np.arange(k, 120, 3))], plan) for k in range(3)]
    parts[0].save(tmp_path / "m")
    total = Moments.load(tmp_path / "m") + parts[1] + parts[2]
    np.testing.assert_array_equal(total.nodes, whole.nodes)
    np.testing.assert_array_equal(total.stats, whole.stats)
    assert total.windows == whole.windows > 0
    np.testing.assert_array_equal(hankel(total).values, hankel(whole).values)
    for change in ({"censoring": Censoring()}, {"final": ()}):
        with pytest.raises(InputError, match="different plans"):
            whole + Moments(replace(plan, **change))
    short = WindowPlan.of(Survey.of([with_end(coin_log(100, 1, 4))]))
    with pytest.raises(InputError, match="read an episode of 9 steps; in the log that these mom"):
        Moments(short).add(log)


@pytest.mark.parametrize("name", ["spectral", "psr", "discovered"])
def test_recordings_too_short_to_learn_from_are_refused(name):
    """Rather than learned from where they are over."""
    with pytest.raises(InputError, match="the log is too short: no episode has 4 steps"):
        estimator_by_name(name, discount=DISCOUNT, rank=2).fit(coin_log(100, 9, 3))


def test_many_short_recordings_start_where_the_few_long_ones_do():
    log = join([coin_log(600, 1, 3), coin_log(15, 2, 12)])
    model = SpectralRPSR(rank=2, discount=DISCOUNT).fit(log).model_
    chances = [model.predict(model.start, action)[-1] for action in ENDING]
    assert chances == pytest.approx(list(ENDING.values()), abs=0.15)  # of some twenty windows each
    assert chances[1] < 0.3  # and not where most recordings are, at their ends


@pytest.mark.parametrize("actions", [5, 6, 13])
def test_an_action_never_taken_is_expected_to_earn_nothing_that_rounding_made(actions):
    names = [f"a{k}" for k in range(actions)]
    rows = [[k % (actions - 1) for k in range(first, first + 6)] for first in range(60)]
    rewards = [[1.0 + a for a in row] for row in rows]
    log = from_arrays(rows, rows, rewards, terminated=[True] * 60, action_names=names)
    log = PreparedLog.of(log).in_memory
    data = hankel(Moments.of([log], WindowPlan.of(Survey.of([log]), behaviour="blind")))
    assert data.centres[:-1] == pytest.approx(1.0 + np.arange(actions - 1))
    assert data.centres[-1] == data.plan.centre  # of which nothing is known


@pytest.mark.parametrize("constant", [0, 100])
def test_a_constant_in_all_rewards_changes_what_is_expected_by_as_much(constant):
    estimator = SpectralRPSR(rank=2, discount=DISCOUNT).fit(coin_log(400, 3, constant=constant))
    judged = estimator.judge(coin_log(200, 4, constant=constant))
    assert judged.reward_rmse < 0.05


def test_when_recordings_are_cut_off_is_a_product_limit():
    """By the definition: of those that were neither cut nor ended before, the shares that last."""
    rng = np.random.default_rng(0)
    cut, ended = rng.integers(1, 9, size=(2, 200))
    lengths, over = np.minimum(cut, ended), ended <= cut
    rows = [[0] * n for n in lengths]
    log = from_arrays(rows, rows, rows, terminated=over)
    survey = Survey.of([log.select(np.arange(90)), log.select(np.arange(90, 200))])
    lasts, expected = 1.0, []
    for length in sorted(set(lengths[~over])):
        at_risk = ((lengths > length) | ((lengths == length) & ~over)).sum()
        lasts *= 1 - ((lengths == length) & ~over).sum() / at_risk
        expected.append(lasts)
    assert survey.censoring.lengths == tuple(sorted(set(lengths[~over])))
    assert survey.censoring.lasting == pytest.approx(expected)
    true = [(cut > length).mean() for length in survey.censoring.lengths]
    # Three standard errors, while there are forty at risk.
    assert survey.censoring.lasting[:4] == pytest.approx(true[:4], abs=0.15)
    shares = survey.censoring.shares(log, 2)
    lasting = dict(zip(survey.censoring.lengths, expected, strict=True))

    def at_least(steps):
        return min((share for length, share in lasting.items() if length < steps), default=1.0)

    for i, (first, last) in enumerate(pairwise(log.offsets)):
        for t in range(first, last):
            needed, there = t - first + 3, last - first
            whole = needed <= there or not over[i]
            assert shares[t] == pytest.approx(1 if whole else at_least(needed) / at_least(there))
