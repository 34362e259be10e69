"""What a model forgets: found at its lag, and not where a model is right or only slightly wrong."""

from dataclasses import replace

import numpy as np
from tests.learning.worlds import memory_log

from rpsr.learning.forgotten import LONGEST, forgotten, sequences
from rpsr.logs import from_arrays


def constant(log):
    """The expected rewards of a model that predicts the mean."""
    return np.full(log.steps, log.rewards.mean())


def test_the_lag_is_found_and_irrelevant_observations_are_one_kind():
    for lag in (2, 5, LONGEST):
        log = memory_log(lag, 300, 20, seed=lag, symbols=4)
        lost = forgotten(log, constant(log))
        assert (lost.lag, lost.kinds) == (lag, 3)
        zero, one, *others = lost.kind_of.tolist()
        assert len({zero, one, *others}) == 3
        assert len(set(others)) == 1
        assert lost.action in (0, 1)
    log = memory_log(LONGEST + 1, 300, 20, seed=0)
    assert forgotten(log, constant(log)) is None


def test_a_model_that_predicts_rewards_forgets_nothing():
    log = memory_log(3, 300, 20, seed=0)
    noise = np.random.default_rng(0).normal(size=log.steps)
    noisy = replace(log, rewards=log.rewards + noise)
    assert forgotten(noisy, log.rewards) is None
    assert forgotten(noisy, constant(log)).lag == 3
    assert forgotten(log, log.rewards) is None


def test_a_dependence_that_hardly_matters_does_not_count():
    """A model that lacks a twentieth of the effect: no noise, so that chance alone excludes it."""
    log = memory_log(3, 300, 20, seed=0)
    assert forgotten(log, 0.95 * log.rewards + 0.05 * constant(log)) is None
    assert forgotten(log, 0.5 * log.rewards + 0.5 * constant(log)).lag == 3


def test_wrong_rewards_after_the_last_observation_are_not_a_memory():
    """Each observation mostly repeats the one before it."""
    rng = np.random.default_rng(0)
    seen = np.cumsum(rng.random((300, 20)) < 0.1, axis=1) % 2
    actions = rng.integers(2, size=seen.shape)
    last = np.concatenate([np.zeros((300, 1), int), seen[:, :-1]], axis=1)
    log = from_arrays(actions, seen, (actions == last) + rng.normal(size=seen.shape))
    assert forgotten(log, constant(log)) is None


def test_other_episodes_are_not_remembered():
    log = memory_log(3, 1, 6000, seed=0)
    short = from_arrays(*(np.reshape(a, (-1, 3)) for a in (log.actions, log.observations)))
    short = replace(short, rewards=log.rewards)
    assert forgotten(log, constant(log)).lag == 3
    assert forgotten(short, constant(log)) is None


def test_rare_large_rewards_are_no_evidence():
    """Level 1e-3 for a log: of 200 logs without a memory, none is expected to be reported."""
    for seed in range(200):
        rng = np.random.default_rng(seed)
        actions, seen = rng.integers(3, size=(2, 60, 30))
        log = from_arrays(actions, seen, 100.0 * (rng.random(seen.shape) < 0.01))
        assert forgotten(log, np.full(log.steps, 1.0)) is None


def test_sequences_are_numbered_by_their_last_kinds():
    kinds = np.random.default_rng(0).integers(3, size=500)
    for length in (1, 2, 4):
        number = sequences(kinds, length)[length - 1 :].tolist()
        windows = [tuple(kinds[t : t + length]) for t in range(500 - length + 1)]
        assert len(set(zip(windows, number, strict=True))) == len(set(windows)) == len(set(number))
