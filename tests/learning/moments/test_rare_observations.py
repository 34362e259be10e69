"""Logs with very many symbols: memory stays bounded, and the model says what it pooled."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

import rpsr
from rpsr.learning import PreparedLog, SpectralRPSR
from rpsr.learning.moments import rare_observations
from rpsr.learning.moments.rare_observations import Pooling
from rpsr.logs import Trajectories
from rpsr.models.renaming import END


def wide(n_actions, n_observations, steps=20_000, seed=0):
    """Episodes of ten steps whose observations are of very different frequency."""
    rng = np.random.default_rng(seed)
    chances = 1.0 / np.arange(1, n_observations + 1)
    actions = rng.integers(n_actions, size=steps)
    seen = rng.choice(n_observations, size=steps, p=chances / chances.sum())
    return Trajectories(
        tuple(f"a{i}" for i in range(n_actions)),
        tuple(f"o{i}" for i in range(n_observations)),
        actions,
        seen,
        np.arange(0, steps + 1, 10),
        np.zeros(steps // 10, dtype=bool),
        rewards=(seen < 3).astype(float),
    )


def test_a_thousand_observations_and_fifty_actions_fit_into_a_gigabyte():
    log = wide(50, 1000)
    tracemalloc.start()
    with pytest.warns(UserWarning, match="observations are rare and were pooled"):
        estimator = SpectralRPSR(discount=0.9, rank=2).fit(log)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**30
    model = estimator.model_
    assert model.observations == log.observation_names
    assert set(estimator.pooled_) == set(model.provenance["pooled"])
    assert "o0" not in estimator.pooled_
    assert "o999" in estimator.pooled_
    said = [model.start @ model.operators.matrix(0, o) @ model.normalizer for o in range(1000)]
    assert sum(said) == pytest.approx(1, abs=1e-6)


def test_few_symbols_are_not_pooled():
    tiger = rpsr.load_pomdp("tiger")
    log = rpsr.simulate(tiger, "uniform", episodes=300, steps=10, rewards=True)
    estimator = SpectralRPSR(discount=0.9).fit(log)
    assert estimator.pooled_ == ()
    assert "pooled" not in estimator.model_.provenance
    assert Pooling.of(PreparedLog.of(log).survey()) is None


def test_pooled_observations_share_the_probability_of_their_pool(monkeypatch):
    """If the rare observations tell nothing about the state, pooling them loses nothing."""
    tiger = rpsr.load_pomdp("tiger")
    log = rpsr.simulate(tiger, "uniform", episodes=4000, steps=10, seed=2, rewards=True)
    rng = np.random.default_rng(0)
    # Each growl is said in one of many voices: the first is frequent, the others are rare.
    voices = np.where(rng.random(log.steps) < 0.7, 0, rng.integers(1, 6, size=log.steps))
    names = [f"{name}-{voice}" for name in log.observation_names for voice in range(6)]
    spoken = replace(
        log, observations=log.observations * 6 + voices, observation_names=tuple(names)
    )
    monkeypatch.setattr(rare_observations, "INTERACTIONS", 9)
    with pytest.warns(UserWarning, match="pooled"):
        estimator = SpectralRPSR(discount=0.9, rank=2).fit(spoken)
    assert len(estimator.pooled_) == 10
    assert all(not name.endswith("-0") for name in estimator.pooled_)
    model = estimator.fitted_
    for a in range(3):
        said = [model.start @ model.operators.matrix(a, o) @ model.normalizer for o in range(12)]
        mine = spoken.observations[spoken.actions == a]
        frequencies = np.bincount(mine, minlength=12) / len(mine)
        assert said == pytest.approx(frequencies, abs=0.02)


def test_observations_at_ends_are_never_pooled(monkeypatch):
    log = wide(2, 30, steps=2000)
    ended = np.zeros(200, dtype=bool)
    ended[::3] = True
    monkeypatch.setattr(rare_observations, "INTERACTIONS", 12)
    chosen = Pooling.of(PreparedLog.of(replace(log, terminated=ended, truncated=~ended)).survey())
    assert chosen is not None
    assert END not in chosen.pooled
    pooled = chosen.log(PreparedLog.of(replace(log, terminated=ended, truncated=~ended)))
    assert pooled.survey().final_names == (END,)
