"""A start of EM whose states are the last few observations.

No other start has a gradient towards rewards that depend on what was observed many steps ago. It is
tried if the rewards of the log show that the best POMDP so far forgets something (`forgotten`).
Observations that need not be told apart are of one kind.
"""

from __future__ import annotations

import numpy as np

from rpsr.io.records import Ints
from rpsr.learning.em.fitted_pomdp import Encoded, FittedPOMDP, Prior, maximise
from rpsr.learning.forgotten import sequences


def window_start(log: Encoded, kind_of: Ints, length: int, most: int) -> FittedPOMDP | None:
    """A state for each sequence of `length` kinds of observations in the log.

    kind_of (O,): the kind of each observation. None if there would be more than `most` states. Only
    steps after a whole sequence count; an episode starts in a state of an average step. The moves
    from a state are smoothed by one step in all: it may have few, and EM can leave it.
    """
    actions, observations, payoffs = log.steps.T
    episode = np.repeat(np.arange(len(log.terminated)), np.diff(log.offsets))
    steps = np.flatnonzero(np.arange(len(actions)) - log.offsets[episode] >= length)
    code = sequences(kind_of[observations], length)
    seen, both = np.unique(np.concatenate([code[steps - 1], code[steps]]), return_inverse=True)
    states = len(seen)
    if not 0 < states <= most:
        return None
    before, after = both.reshape(2, -1)
    end = states if log.ends else -1
    n = states + log.ends
    ended = log.terminated[episode[steps]] & (steps == log.offsets[1:][episode[steps]] - 1)
    after = np.where(ended, end, after)
    counts = [
        np.bincount(before, minlength=n).astype(np.float64),
        np.zeros((log.sizes[0], n, n)),
        np.zeros((*log.sizes, n)),
        np.zeros((len(log.payoff_actions), n)),
    ]
    np.add.at(counts[1], (actions[steps], before, after), 1.0)
    np.add.at(counts[2], (actions[steps], observations[steps], after), 1.0)
    np.add.at(counts[3], (payoffs[steps], before), 1.0)
    return maximise(log, counts, Prior(1 / n), end)
