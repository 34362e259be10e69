"""Split a state of a fitted POMDP, to leave a local optimum.

From all of its starts, EM may fit one state in place of two, for example for both places with a
reward, and merging only removes states. Here each state in turn is split: its expected counts of
moves, observations and rewards are divided at random, so that the halves differ. `QUICK` iterations
of EM rank the splits; the `KEPT` best are fitted further, because the gain of a right split shows
late; the best of these is returned.

Splits and merges against local optima of mixtures: Ueda, Nakano, Ghahramani and Hinton, "SMEM
algorithm for mixture models", Neural Computation 12 (2000).
"""

from __future__ import annotations

import numpy as np

from rpsr.io.records import Floats
from rpsr.learning.em.fitted_pomdp import (
    Encoded,
    FittedPOMDP,
    Prior,
    counts_of,
    iterate,
    likelihoods,
    maximise,
)

QUICK, LONGER = 15, 40  # iterations before the first and the last comparison of splits
KEPT = 4  # splits that are fitted further


def best_split(
    parameters: FittedPOMDP, log: Encoded, prior: Prior, rng: np.random.Generator
) -> FittedPOMDP:
    """The POMDP with one state split, the one whose split explains the log best."""
    counts, _ = counts_of(parameters, log)
    tried = [
        maximise(log, split(counts, state, rng), prior, parameters.end)
        for state in range(parameters.states)
        if state != parameters.end
    ]
    for iterations, kept in ((QUICK, KEPT), (LONGER, 1)):
        tried = [iterate(pomdp, log, prior, iterations) for pomdp in tried]
        worth = [float(likelihoods(pomdp, log).sum()) for pomdp in tried]
        tried = [tried[i] for i in np.argsort(-np.array(worth), kind="stable")[:kept]]
    return tried[0]


def split(counts: list[Floats], state: int, rng: np.random.Generator) -> list[Floats]:
    """The counts with one state's divided at random between it and a new, last state."""
    start, moves, emissions, payoffs = counts
    return [
        _dealt(start, 0, state, rng),
        _dealt(_dealt(moves, 2, state, rng), 1, state, rng),
        _dealt(emissions, 2, state, rng),
        _dealt(payoffs, 1, state, rng),
    ]


def _dealt(counts: Floats, axis: int, state: int, rng: np.random.Generator) -> Floats:
    """Counts (..., S, ...) along an axis, one state's divided between it and a new last one."""
    old = np.take(counts, state, axis=axis)
    new = old * rng.random(old.shape)
    grown = np.insert(counts, counts.shape[axis], new, axis=axis)
    kept = [slice(None)] * counts.ndim
    kept[axis] = slice(state, state + 1)
    grown[tuple(kept)] -= np.expand_dims(new, axis)
    return np.ascontiguousarray(grown)
