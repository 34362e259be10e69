"""From a fitted POMDP up to one with a state more: the way out of a local optimum.

EM may let one state do the work of two, say of both places where something is earned, in all of its
starts, and merging only goes down. Here each state in turn is made two: all that was counted of it,
coming, going, sights and rewards, is dealt out at random, so that the halves differ. A few
iterations say which splits explain the log better; what a right one is worth shows later, so some
of the best go on, and the best of those is the one to follow.

Splits and merges against local optima of mixtures: Ueda, Nakano, Ghahramani and Hinton, "SMEM
algorithm for mixture models", Neural Computation 12 (2000).
"""

from __future__ import annotations

import numpy as np

from rpsr.io.records import Floats
from rpsr.learning.em.steps import (
    Encoded,
    FittedPOMDP,
    Prior,
    counts_of,
    iterate,
    likelihoods,
    maximise,
)

QUICK, LONGER = 15, 40  # iterations after which splits are judged, first and last
KEPT = 4  # splits that go on


def best_split(
    parameters: FittedPOMDP, log: Encoded, prior: Prior, rng: np.random.Generator
) -> FittedPOMDP:
    """The POMDP with one state made two, that state whose halves explain the log best."""
    counts, _ = counts_of(parameters, log)
    tried = [
        maximise(log, split(counts, state, rng), prior, parameters.end)
        for state in range(parameters.states)
        if state != parameters.end
    ]
    for iterations, kept in ((QUICK, KEPT), (LONGER, 1)):
        tried = [iterate(each, log, prior, iterations) for each in tried]
        worth = [float(likelihoods(each, log).sum()) for each in tried]
        tried = [tried[i] for i in np.argsort(-np.array(worth), kind="stable")[:kept]]
    return tried[0]


def split(counts: list[Floats], state: int, rng: np.random.Generator) -> list[Floats]:
    """The counts with one state's dealt out at random between it and a new, last state."""
    start, moves, sights, payoffs = counts
    return [
        _dealt(start, 0, state, rng),
        _dealt(_dealt(moves, 2, state, rng), 1, state, rng),
        _dealt(sights, 2, state, rng),
        _dealt(payoffs, 1, state, rng),
    ]


def _dealt(counts: Floats, axis: int, state: int, rng: np.random.Generator) -> Floats:
    """Counts (..., S, ...) along an axis, one state's dealt out between it and a new last one."""
    old = np.take(counts, state, axis=axis)
    new = old * rng.random(old.shape)
    grown = np.insert(counts, counts.shape[axis], new, axis=axis)
    kept = [slice(None)] * counts.ndim
    kept[axis] = slice(state, state + 1)
    grown[tuple(kept)] -= np.expand_dims(new, axis)
    return np.ascontiguousarray(grown)
