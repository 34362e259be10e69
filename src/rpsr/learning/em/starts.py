"""Starts of EM: at random, with one main observation per state, or with a memory.

Random starts find dependencies over a step or two. They have no gradient towards a longer memory (a
priest says left or right, and this matters many steps later). So some starts have one: a state is
the last observation and which of two given observations occurred more recently, since the start of
the episode or since a reward other than the most common one. Counts choose the two observations,
and whether such a reward resets the memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.learning.em.fitted_pomdp import TINY_SCALE, Encoded, FittedPOMDP, Prior, maximise

VISITS = 20.0  # pseudo-counts of a random start, per state and action
MOST_COMMON = 24  # observations, of which any two are tried for a memory
UNLIKELY = 0.05  # the probability of all but the main observation of a state
SMOOTHING = Prior(0.5)  # added to the counts of a start with a memory, so that EM can leave it


def random_start(log: Encoded, states: int, rng: np.random.Generator) -> FittedPOMDP:
    """Random probabilities."""
    return _drawn(log, states, rng, np.ones((log.sizes[1], states)))


def observation_start(log: Encoded, states: int, rng: np.random.Generator) -> FittedPOMDP:
    """Each state has one main observation; frequent observations have more states."""
    frequency = np.bincount(log.steps[:, 1], minlength=log.sizes[1]) + 1.0
    frequency[log.final] = TINY_SCALE  # observations of the end occur in no other state
    first = np.argsort(-frequency, kind="stable")[:states]
    more = rng.choice(len(frequency), size=states, p=frequency / frequency.sum())
    shown = np.concatenate([first, more])[:states]
    weights = np.full((log.sizes[1], states), UNLIKELY)
    weights[shown, np.arange(states)] = 1.0
    return _drawn(log, states, rng, weights)


def _drawn(log: Encoded, states: int, rng: np.random.Generator, weights: Floats) -> FittedPOMDP:
    n_actions, n_observations = log.sizes
    end = states if log.ends else -1
    n = states + (end >= 0)
    wide = np.ones((n_observations, n))
    wide[:, :states] = weights
    counts = [
        rng.dirichlet(np.ones(n)) * VISITS,
        rng.dirichlet(np.ones(n), size=(n_actions, n)) * VISITS,
        rng.gamma(1.0, size=(n_actions, n_observations, n)) * wide * VISITS,
        rng.gamma(1.0, size=(len(log.payoff_actions), n)) * VISITS,
    ]
    return maximise(log, counts, SMOOTHING, end)


@dataclass(frozen=True, order=True)
class Memory:
    """Remembers the later of two observations; forgets: a rare reward resets the memory."""

    alternatives: tuple[int, int]
    forgets: bool


def worth_remembering(log: Encoded, most: int) -> list[Memory]:
    """The memories that predict the log best, at most `most`, best first.

    The log determines the state of a memory at every step. Its score is the log-likelihood of the
    next observation and reward given the action, minus the number of free probabilities (Akaike).
    Rewards of the family 'none' do not count.
    """
    rewards = log.payoff_rewards[log.steps[:, 2]]
    if log.family == "none":
        rewards = np.zeros_like(rewards)
    values, kinds = np.unique(rewards, return_inverse=True)
    outcomes = log.steps[:, 1] * len(values) + kinds.reshape(-1)
    scored: list[tuple[float, Memory]] = []
    seen, times = np.unique(log.steps[:, 1], return_counts=True)
    common = np.sort(seen[np.argsort(-times, kind="stable")[:MOST_COMMON]])
    for alternatives in combinations(common.tolist(), 2):
        for forgets in (False,) if log.family == "none" else (False, True):
            memory = Memory(alternatives, forgets)
            before, _, _ = _labelled(log, memory)
            states = before * log.sizes[0] + log.steps[:, 0]
            scored.append((-_predicted(states, outcomes, log.sizes[1] * len(values)), memory))
    return [memory for _, memory in sorted(scored)[:most]]


def _predicted(states: Ints, outcomes: Ints, size: int) -> float:
    """The log-likelihood of outcomes in [0, size) given states, minus the free probabilities."""
    cells = np.unique(states * size + outcomes, return_counts=True)[1].astype(np.float64)
    rows = np.unique(states, return_counts=True)[1].astype(np.float64)
    likelihood = (cells * np.log(cells)).sum() - (rows * np.log(rows)).sum()
    return float(likelihood) - (len(cells) - len(rows))


def remembering_start(log: Encoded, memory: Memory) -> FittedPOMDP:
    """A state for every last observation and memory: neither of the two, the first, the second.

    One more state is that before the first step. States that the log never visits are left out.
    """
    before, after, states = _labelled(log, memory)
    first, last = _ends_of(log)
    end = states if log.ends else -1
    n = states + log.ends
    after[last[log.terminated[np.diff(log.offsets) > 0]]] = end
    actions, observations, payoffs = log.steps.T
    counts = [
        np.zeros(n),
        np.zeros((log.sizes[0], n, n)),
        np.zeros((*log.sizes, n)),
        np.zeros((len(log.payoff_actions), n)),
    ]
    np.add.at(counts[0], before[first], 1.0)
    np.add.at(counts[1], (actions, before, after), 1.0)
    np.add.at(counts[2], (actions, observations, after), 1.0)
    np.add.at(counts[3], (payoffs, before), 1.0)
    return maximise(log, counts, SMOOTHING, end)


def _ends_of(log: Encoded) -> tuple[Ints, Ints]:
    """The first and the last step of every episode, (N,) each; episodes without steps left out."""
    some = np.diff(log.offsets) > 0
    return log.offsets[:-1][some], log.offsets[1:][some] - 1


def _labelled(log: Encoded, memory: Memory) -> tuple[Ints, Ints, int]:
    """The remembered state before and after each step, (L,) each, and how many there are."""
    observations = log.steps[:, 1]
    steps = np.arange(len(observations))
    first, _ = _ends_of(log)
    began = np.zeros(len(observations), dtype=np.int64)
    began[first] = first
    if memory.forgets:
        rewards = log.payoff_rewards[log.steps[:, 2]]
        values, counts = np.unique(rewards, return_counts=True)
        rare = rewards != values[counts.argmax()]
        began[rare] = steps[rare]  # the observation of a step comes after its reward
    began = np.maximum.accumulate(began)
    last = [
        np.maximum.accumulate(np.where(observations == observation, steps, -1))
        for observation in memory.alternatives
    ]
    remembered = 1 + (last[1] > last[0])
    remembered[np.maximum(last[0], last[1]) < began] = 0
    kinds, after = np.unique(3 * observations + remembered, return_inverse=True)
    after = after.reshape(-1)
    before = np.concatenate([[0], after[:-1]])
    before[first] = len(kinds)
    return before, after, len(kinds) + 1
