"""How EM looks for states: rewards in bins, states split, a choice among what is found."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.learning.worlds import small_log, uniform_log
from tests.strategies import few

from rpsr.learning import Choosing, PreparedLog, Search, diagnose
from rpsr.learning.em.bins import binned, least_squares_cuts, parts, unbinned
from rpsr.learning.em.candidates import Scored, choose_number_of_states, difference
from rpsr.learning.em.estimator import EMRPSR
from rpsr.learning.em.fitted_pomdp import (
    Encoded,
    Prior,
    counts_of,
    iterate,
    likelihoods,
    maximise,
)
from rpsr.learning.em.merge import merged
from rpsr.learning.em.partitioned_log import Views
from rpsr.learning.em.split import best_split, split
from rpsr.learning.em.starts import random_start
from rpsr.logs import from_arrays

PLAIN = Prior(0.02)


def test_the_smallest_within_one_standard_error_is_chosen_and_nothing_twice():
    log = Encoded.of(small_log(1, ends=False))
    two, three, four = (random_start(log, n, np.random.default_rng(0)) for n in (2, 3, 4))
    noise = np.random.default_rng(0).normal(size=400)
    noise -= noise.mean()
    best = np.linspace(-1, 1, 400)
    near, far = best - 0.04 + noise, best - 0.06 + noise  # one standard error is about 0.05
    again = replace(four)
    candidates = [
        Scored(best, four),
        Scored(far, two),
        Scored(near, three),
        Scored(best - 1e-6, again),
    ]
    first, *others = choose_number_of_states(candidates, 5)
    assert first.fitted is three
    assert difference(best, near) == (pytest.approx(0.04), pytest.approx(noise.std() / 20))
    assert [candidate.fitted for candidate in others] == [four]
    assert choose_number_of_states(candidates, 1) == [first]


def test_less_than_a_nat_in_all_decides_nothing():
    """Scores that hardly vary have tiny standard errors, and rounding would choose among them."""
    log = Encoded.of(small_log(1, ends=False))
    one, two = (random_start(log, n, np.random.default_rng(0)) for n in (1, 2))
    best = np.zeros(50)
    for behind, smaller in ((0.9, True), (1.1, False)):
        candidates = [Scored(best, two), Scored(best - behind / 50, one)]
        assert (choose_number_of_states(candidates, 1)[0].fitted is one) == smaller


@pytest.mark.parametrize("n_observations", [1, 2])
def test_a_task_without_a_state_has_one(n_observations):
    """Actions pay, and what is seen is chance, or always the same: there is nothing to remember."""
    rng = np.random.default_rng(1)
    actions = rng.integers(2, size=(100, 10))
    log = from_arrays(actions, rng.integers(n_observations, size=actions.shape), actions * 1.0)
    estimator = EMRPSR(discount=0.9, search=Search(sizes=(4,), starts=2)).fit(log)
    assert estimator.candidates_[0].states == estimator.rank_ == 1


def test_two_are_one_if_their_scores_differ_by_next_to_nothing_and_their_sizes_do_not():
    log = Encoded.of(small_log(1, ends=False))
    two, three = (random_start(log, n, np.random.default_rng(0)) for n in (2, 3))
    scores = np.tile([-1.0, 1.0], 50)  # with a deviation of 1
    first = Scored(scores, two)
    assert first.same_as(Scored(scores + 0.9e-3, replace(two)))
    assert not first.same_as(Scored(scores + 1.1e-3, two))
    assert not first.same_as(Scored(scores, three))


@given(st.integers(0, 100), st.booleans())
@settings(max_examples=few(20), deadline=None)
def test_the_halves_of_a_state_are_what_it_was(seed, ends):
    log = Encoded.of(small_log(seed, ends=ends))
    counts, _ = counts_of(random_start(log, 3, np.random.default_rng(seed)), log)
    halves = split(counts, 1, np.random.default_rng(seed))
    n = len(counts[0])
    assert [array.shape for array in halves[:2]] == [(n + 1,), (2, n + 1, n + 1)]
    assert min(array.min() for array in halves) >= 0
    for together, expected in zip(merged(halves, 1, n), counts, strict=True):
        np.testing.assert_allclose(together, expected, rtol=1e-12, atol=1e-12)


@given(st.lists(st.integers(-9, 9), min_size=2, max_size=8, unique=True), st.integers(0, 50))
@settings(max_examples=few(40), deadline=None)
def test_bins_of_rewards_have_the_least_squares_of_all(values, seed):
    points = np.sort(np.array(values, dtype=float))
    weights = np.random.default_rng(seed).integers(1, 5, size=len(points)).astype(float)

    def squares(cut):
        return sum(
            (w * (x - np.average(x, weights=w)) ** 2).sum()
            for x, w in zip(np.split(points, cut), np.split(weights, cut), strict=True)
        )

    for number, (least, begins) in enumerate(
        least_squares_cuts(weights, weights * points, weights * points**2), 1
    ):
        ways = list(combinations(range(1, len(points)), number - 1))
        assert begins[0] == 0
        assert squares(begins[1:]) == pytest.approx(least, abs=1e-8)
        assert least == pytest.approx(min(squares(way) for way in ways), abs=1e-8)


def test_rewards_are_parted_where_they_lie_apart_and_else_by_quarters():
    rng = np.random.default_rng(0)
    often, seldom, far = rng.normal(0, 1, 900), rng.normal(9, 1, 60), rng.normal(30, 1, 5)
    values = np.sort(np.concatenate([often, seldom, far]))
    assert np.bincount(parts(values, np.ones(len(values)))).tolist() == [900, 60, 5]
    alike = parts(np.sort(often), np.ones(900))
    assert np.bincount(alike).tolist() == pytest.approx([225, 225, 225, 225], abs=2)
    apart = np.sort(np.concatenate([often, often + 9, [1e4]]))  # one value far out hides nothing
    assert np.bincount(parts(apart, np.ones(1801))).tolist() == [900, 900, 1]
    assert parts(np.array([3.0]), np.ones(1)).tolist() == [0]


@given(st.integers(0, 50), st.integers(-60, 60), st.integers(-20, 20))
@settings(max_examples=few(20), deadline=None)
def test_bins_do_not_depend_on_the_unit_or_the_zero_of_rewards(seed, power, shift):
    values = np.sort(np.random.default_rng(seed).choice([0, 1, 7], 90) * 1.0)
    values += np.linspace(0, 1 / 4, 90)
    values.sort()
    moved = (values + shift) * 2.0**power
    np.testing.assert_array_equal(parts(values, np.ones(90)), parts(moved, np.ones(90)))


def test_a_log_in_bins_is_the_same_log_and_gives_its_likelihoods_back():
    log = Encoded.of(small_log(5, gaussian=True), "gaussian")
    coarse, went = binned(log)
    assert coarse.family == "categorical"
    np.testing.assert_array_equal(coarse.steps[:, :2], log.steps[:, :2])
    np.testing.assert_array_equal(coarse.payoff_actions[went], log.payoff_actions)
    np.testing.assert_array_equal(coarse.steps[:, 2], went[log.steps[:, 2]])
    fitted = random_start(coarse, 3, np.random.default_rng(0))
    np.testing.assert_array_equal(
        likelihoods(unbinned(fitted, went), log), likelihoods(fitted, coarse)
    )
    few = Encoded.of(small_log(5))
    assert binned(few)[0] is few


def test_what_two_actions_earn_alike_is_one_reward_in_bins():
    """Else what is rare, and makes a memory forget, would be all that other actions earn."""
    _, log = uniform_log("t-maze:length=2", 200, 20, 0)
    assert log.rewards is not None
    noise = np.random.default_rng(0).normal(0, 0.01, size=log.steps)
    coarse, _ = binned(Encoded.of(replace(log, rewards=log.rewards + noise)))
    rewards = coarse.payoff_rewards[coarse.steps[:, 2]]
    assert len(np.unique(rewards)) == len(np.unique(log.rewards))
    np.testing.assert_allclose(rewards, log.rewards, atol=0.01)


def test_the_end_is_never_split():
    log = Encoded.of(small_log(4))
    start = random_start(log, 2, np.random.default_rng(0))
    assert start.end == 2
    larger = best_split(start, log, PLAIN, np.random.default_rng(1))
    assert (larger.states, larger.end, larger.start[2]) == (4, 2, 0)
    assert larger.moves[:, 2, 2] == pytest.approx(1)
    assert larger.visits[:, 3].sum() > 0  # the new one is a state in which actions are taken


def test_splits_find_as_many_states_as_there_are_from_too_few():
    """Two starts of four states: without splits there would never be more."""
    pomdp, log = uniform_log("loadunload", 150, 20, 3)
    search = Search(sizes=(4,), starts=2, memories=0, most=4)
    grown = EMRPSR(discount=0.95, search=search).fit(log)
    kept = EMRPSR(discount=0.95, search=replace(search, largest=4)).fit(log)
    assert kept.candidates_[0].states <= 4 < grown.candidates_[0].states
    known, few, many = (
        diagnose(model, log).reward_rmse
        for model in (fitted.belief_model() for fitted in (pomdp, kept.pomdp_, grown.pomdp_))
    )
    assert few - known > 2 * (many - known)


@pytest.mark.parametrize("states", [1, 3, 7])
def test_a_requested_number_of_states_is_found_also_beyond_the_starts(states):
    _, log = uniform_log("tiger", 40, 10, 3)
    search = Search(sizes=(2, 4), starts=2, descents=1, memories=0)
    estimator = EMRPSR(discount=0.95, states=states, search=search).fit(log)
    assert [one.states for one in estimator.candidates_] == [states] * len(estimator.candidates_)


def test_policies_are_valued_in_the_smallest_and_in_the_largest_model_that_explains_the_log():
    """Small models of a short log may all leave out the same thing, and agree wrongly."""
    _, log = uniform_log("tiger", 60, 10, 3)
    search = Search(sizes=(6,), starts=2, descents=1, memories=0, most=6)
    sizes = []
    for keep in (1, 5):
        estimator = EMRPSR(discount=0.95, search=search, choosing=Choosing(keep=keep)).fit(log)
        small, large = estimator.families(PreparedLog.of(log), 2, 1, seed=0)
        assert [len(small), len(large)] == [2, 2]
        assert small[0].dimension == estimator.candidates_[0].states < large[0].dimension
        assert len(estimator.candidates_) <= keep
        sizes.append((large[0].dimension, large[1].dimension))
    assert sizes[0] == sizes[1]


def test_every_refit_has_a_resampled_log_of_its_own(monkeypatch):
    """Refits of two models to the same resampled log are wrong in the same way."""
    _, log = uniform_log("tiger", 60, 10, 3)
    search = Search(sizes=(6,), starts=2, descents=1, memories=0, most=6)
    estimator = EMRPSR(discount=0.95, search=search).fit(log)
    drawn, selected = [], Views.selected

    def watched(views, episodes):
        drawn.append(tuple(episodes.tolist()))
        return selected(views, episodes)

    monkeypatch.setattr(Views, "selected", watched)
    assert len(estimator.families(PreparedLog.of(log), 2, 2, seed=0)) == 2
    assert len(drawn) == len(set(drawn)) == 4


def test_a_split_leads_out_of_the_optimum_where_one_state_does_the_work_of_two():
    """Both ends of load/unload pay; a state for both forgets at which end it is, and EM stays."""
    _, log = uniform_log("loadunload", 100, 20, 1)
    encoded = Encoded.of(log)
    apart = EMRPSR(discount=0.95, seed=1, search=Search(sizes=(14,))).fit(log).candidates_[0].fitted
    low, high = np.sort(np.argsort(apart.means.min(axis=0))[-2:]).tolist()
    assert apart.means[:, [low, high]].min() > 0.5
    counts, _ = counts_of(apart, encoded)
    stuck = iterate(maximise(encoded, merged(counts, low, high), PLAIN, -1), encoded, PLAIN, 60)
    lost = likelihoods(apart, encoded).sum() - likelihoods(stuck, encoded).sum()
    assert lost > 50
    larger = best_split(stuck, encoded, PLAIN, np.random.default_rng(0))
    freed = iterate(larger, encoded, PLAIN, 20)
    assert likelihoods(freed, encoded).sum() > likelihoods(apart, encoded).sum() - 0.1 * lost


def test_states_are_looked_for_with_rewards_in_bins():
    """Whose probabilities no unit changes; log-densities would fall by steps * log(2**20)."""
    _, log = uniform_log("tiger", 30, 10, 0)
    assert log.rewards is not None
    noisy = log.rewards + np.random.default_rng(0).normal(size=log.steps)
    search = Search(sizes=(3,), starts=2, memories=0, largest=3)
    small, large = (
        EMRPSR(discount=0.95, search=search).fit(replace(log, rewards=noisy * unit))
        for unit in (1.0, 2.0**20)
    )
    assert [candidate.loglik for candidate in large.candidates_] == [
        candidate.loglik for candidate in small.candidates_
    ]
    assert small.candidates_[0].fitted.payoffs.shape[0] == log.steps  # and densities are of each


@pytest.mark.parametrize("seed", [1, 2])
def test_noise_on_rewards_hides_no_state(seed):
    """In bins or not, the model predicts the rewards as well as possible."""
    pomdp, log = uniform_log("loadunload", 100, 20, seed)
    assert log.rewards is not None
    noise = np.random.default_rng(seed).normal(0, 0.5 * log.rewards.std(), size=log.steps)
    noisy = replace(log, rewards=log.rewards + noise)
    learned = EMRPSR(discount=0.95, seed=seed, search=Search(sizes=(14,))).fit(noisy)
    known = diagnose(pomdp.belief_model(), noisy).reward_rmse  # nobody can expect rewards better
    assert learned.judge(noisy).reward_rmse < 1.02 * known
    assert np.sort(learned.pomdp_.belief_model().rewards.max(axis=1))[-2:] == pytest.approx(
        1, abs=0.1
    )
