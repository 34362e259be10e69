"""Where EM starts: at random, with each state's sight decided, or with a sight remembered.

Chance finds what shows within a step or two. A system that must be remembered for longer than that
(a priest says left or right, and many steps later it matters) gives random starts nothing to climb,
so some starts remember: a state is the last observation together with which of two given
observations was seen more recently, since the episode began or since a reward other than the
commonest. Which two, and whether such a reward makes forget, counts say.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.learning.em.steps import TINY_SCALE, Encoded, FittedPOMDP, Prior, maximise

VISITS = 20.0  # how many imagined visits a random start is made of, per state and action
SIGHTS = 24  # the most frequent ones, of which any two are tried for remembering
UNLIKELY = 0.05  # of a sighted state's other observations
SMOOTHING = Prior(0.5)  # added to the counts of a start that remembers, so that EM can leave it


def random_start(log: Encoded, states: int, rng: np.random.Generator) -> FittedPOMDP:
    """Probabilities drawn at random: nothing is known of any state."""
    return _drawn(log, states, rng, np.ones((log.sizes[1], states)))


def sighted_start(log: Encoded, states: int, rng: np.random.Generator) -> FittedPOMDP:
    """Each state mostly shows one observation, those seen often having more states."""
    frequency = np.bincount(log.steps[:, 1], minlength=log.sizes[1]) + 1.0
    frequency[log.final] = TINY_SCALE  # what the end shows, no other state does
    first = np.argsort(-frequency, kind="stable")[:states]
    more = rng.choice(len(frequency), size=states, p=frequency / frequency.sum())
    shown = np.concatenate([first, more])[:states]
    liking = np.full((log.sizes[1], states), UNLIKELY)
    liking[shown, np.arange(states)] = 1.0
    return _drawn(log, states, rng, liking)


def _drawn(log: Encoded, states: int, rng: np.random.Generator, liking: Floats) -> FittedPOMDP:
    n_actions, n_observations = log.sizes
    end = states if log.ends else -1
    n = states + (end >= 0)
    wide = np.ones((n_observations, n))
    wide[:, :states] = liking
    counts = [
        rng.dirichlet(np.ones(n)) * VISITS,
        rng.dirichlet(np.ones(n), size=(n_actions, n)) * VISITS,
        rng.gamma(1.0, size=(n_actions, n_observations, n)) * wide * VISITS,
        rng.gamma(1.0, size=(len(log.payoff_actions), n)) * VISITS,
    ]
    return maximise(log, counts, SMOOTHING, end)


@dataclass(frozen=True, order=True)
class Memory:
    """Two observations, the later of which is remembered, until a rare reward or for ever."""

    alternatives: tuple[int, int]
    forgets: bool


def worth_remembering(log: Encoded, most: int) -> list[Memory]:
    """The memories that predict the log best, at most so many, best first.

    A memory is a state that the log determines, so that counts say how well it predicts the next
    observation and reward given the action: by likelihood, less one for every free probability
    (Akaike). Rewards of the family 'none' do not count.
    """
    rewards = log.payoff_rewards[log.steps[:, 2]]
    if log.family == "none":
        rewards = np.zeros_like(rewards)
    values, kinds = np.unique(rewards, return_inverse=True)
    outcomes = log.steps[:, 1] * len(values) + kinds.reshape(-1)
    scored: list[tuple[float, Memory]] = []
    sights, times = np.unique(log.steps[:, 1], return_counts=True)
    common = np.sort(sights[np.argsort(-times, kind="stable")[:SIGHTS]])
    for alternatives in combinations(common.tolist(), 2):
        for forgets in (False,) if log.family == "none" else (False, True):
            memory = Memory(alternatives, forgets)
            before, _, _ = _labelled(log, memory)
            states = before * log.sizes[0] + log.steps[:, 0]
            scored.append((-_predicted(states, outcomes, log.sizes[1] * len(values)), memory))
    return [memory for _, memory in sorted(scored)[:most]]


def _predicted(states: Ints, outcomes: Ints, size: int) -> float:
    """How well states predict outcomes in [0, size): log-likelihood less free probabilities."""
    cells = np.unique(states * size + outcomes, return_counts=True)[1].astype(np.float64)
    rows = np.unique(states, return_counts=True)[1].astype(np.float64)
    likelihood = (cells * np.log(cells)).sum() - (rows * np.log(rows)).sum()
    return float(likelihood) - (len(cells) - len(rows))


def remembering_start(log: Encoded, memory: Memory) -> FittedPOMDP:
    """A state for every last observation and what is remembered: neither, the one, the other.

    Before its first step an episode is in a state of its own. States that the log never visits are
    left out.
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
        began[rare] = steps[rare]  # what a step shows comes after what it earns
    began = np.maximum.accumulate(began)
    last = [
        np.maximum.accumulate(np.where(observations == sight, steps, -1))
        for sight in memory.alternatives
    ]
    remembered = 1 + (last[1] > last[0])
    remembered[np.maximum(last[0], last[1]) < began] = 0
    kinds, after = np.unique(3 * observations + remembered, return_inverse=True)
    after = after.reshape(-1)
    before = np.concatenate([[0], after[:-1]])
    before[first] = len(kinds)
    return before, after, len(kinds) + 1
