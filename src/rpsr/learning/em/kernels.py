"""Compiled passes over episodes for the EM of an input-output POMDP.

With states s, actions a, observations o and rewards r, a fitted POMDP says

    P(r, s', o | s, a) = W[a, r, s] T[a, s, s'] O[a, o, s'].

`forward` filters one episode with scaled probabilities, `expect` adds the expected counts of a
backward pass, `score` sums logarithms only. A payoff (a, r) that occurs in the log has a number j,
so W is a table (J, S) of likelihoods for every family of rewards.

The expected number of moves from s to s' is T[a, s, s'] times a sum over time of products w_t(s)
u_t(s'). So the factor T is left out of the loop and multiplied in at the end, once per entry.

An episode that terminated is in the state `end` after its last step, and at no other time; `end` is
-1 if no episode of the log terminated.
"""

from __future__ import annotations

import numpy as np

from rpsr.io.records import Bools, Floats, Ints
from rpsr.kernels import njit

TINY = 1e-300


# The arguments are the arrays of one pass over episodes, which numba takes one by one.
@njit(cache=True, fastmath={"reassoc", "contract"})
def forward(
    start: Floats,
    T: Floats,
    O: Floats,
    W: Floats,
    steps: Ints,
    terminated: bool,
    end: int,
    filtered: Floats,
    scales: Floats,
) -> None:
    """Filter one episode, steps (L, 3) of (a, o, j): filtered (L + 1, S) and scales (L,).

    filtered[t] is the belief before step t given all earlier steps, rewards included; scales[t] is
    the probability of the observation and reward of step t.
    """
    n = len(start)
    length = len(steps)
    filtered[0, :n] = start
    for t in range(length):
        a, o, j = steps[t]
        after = filtered[t + 1]
        after[:] = 0.0
        for s in range(n):
            weight = filtered[t, s] * W[j, s]
            if weight > 0.0:
                for s2 in range(n):
                    after[s2] += weight * T[a, s, s2]
        ends = terminated and t == length - 1
        total = 0.0
        for s2 in range(n):
            after[s2] *= O[a, o, s2]
            if end >= 0 and (s2 == end) != ends:
                after[s2] = 0.0
            total += after[s2]
        scales[t] = max(total, TINY)
        for s2 in range(n):
            after[s2] /= scales[t]


# The arguments are the arrays of one pass over episodes, which numba takes one by one.
@njit(cache=True, fastmath={"reassoc", "contract"})
def expect(
    start: Floats,
    T: Floats,
    O: Floats,
    W: Floats,
    steps: Ints,
    offsets: Ints,
    terminated: Bools,
    end: int,
    start_counts: Floats,
    move_counts: Floats,
    emission_counts: Floats,
    reward_counts: Floats,
) -> float:
    """Add the expected counts of N episodes to the given arrays; returns their log-likelihood.

    start (S,), T (A, S, S), O (A, O, S), W (J, S), each with counts of its own shape; steps
    (L, 3) of (a, o, j); offsets (N + 1,). The counts of moves still lack their factor T.
    """
    n = len(start)
    longest = 0
    for i in range(len(offsets) - 1):
        longest = max(longest, offsets[i + 1] - offsets[i])
    filtered = np.zeros((longest + 1, n))
    scales = np.ones(longest)
    beta = np.ones(n)
    ahead = np.ones(n)
    total = 0.0
    for i in range(len(offsets) - 1):
        episode = steps[offsets[i] : offsets[i + 1]]
        length = len(episode)
        if length == 0:  # nothing is known of where it started
            continue
        forward(start, T, O, W, episode, terminated[i], end, filtered, scales)
        beta[:] = 1.0
        for t in range(length - 1, -1, -1):
            a, o, j = episode[t]
            total += np.log(scales[t])
            for s in range(n):
                emission_counts[a, o, s] += filtered[t + 1, s] * beta[s]
                ahead[s] = 0.0 if filtered[t + 1, s] == 0.0 else O[a, o, s] * beta[s] / scales[t]
            for s in range(n):
                weight = filtered[t, s] * W[j, s]
                product = 0.0
                for s2 in range(n):
                    product += T[a, s, s2] * ahead[s2]
                if weight > 0.0:
                    for s2 in range(n):
                        move_counts[a, s, s2] += weight * ahead[s2]
                    reward_counts[j, s] += weight * product
                beta[s] = W[j, s] * product
        for s in range(n):
            start_counts[s] += filtered[0, s] * beta[s]
    return total


@njit(cache=True)
def score(
    start: Floats,
    T: Floats,
    O: Floats,
    W: Floats,
    steps: Ints,
    offsets: Ints,
    terminated: Bools,
    end: int,
) -> Floats:
    """The log-likelihood of each of N episodes, (N,)."""
    episodes = len(offsets) - 1
    longest = 0
    for i in range(episodes):
        longest = max(longest, offsets[i + 1] - offsets[i])
    filtered = np.zeros((longest + 1, len(start)))
    scales = np.ones(longest)
    scores = np.zeros(episodes)
    for i in range(episodes):
        episode = steps[offsets[i] : offsets[i + 1]]
        forward(start, T, O, W, episode, terminated[i], end, filtered, scales)
        for t in range(len(episode)):
            scores[i] += np.log(scales[t])
    return scores
