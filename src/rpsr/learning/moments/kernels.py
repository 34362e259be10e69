"""Compiled passes over a log: counting contexts, and adding up the moments of windows.

Both add integers, so that the sum over a log does not depend on its division into parts or their
order. Each kernel has its plain Python version as `.py_func`, the oracle of its tests.

An interaction is a * O + o, a word a sequence of these. Vocabularies are tries, children
(nodes, A * O), with -1 where there is none and the empty word as node 0; histories grow backwards
in time.
"""

from __future__ import annotations

import numpy as np

from rpsr.io.records import Bools, Floats, Ints
from rpsr.kernels import njit

UNIT = 2.0**30  # weights and weighted rewards are added up in units of 2^-30
SQUARE_UNIT = 2.0**20  # squared weights in units of 2^-20
LARGEST_WEIGHT = 1024.0  # of a window, over a uniform policy's: more would only add noise
WEIGHT, REWARD, REWARD2, WEIGHT2 = range(4)  # the sums of an action: w, w r, w r^2, w^2


@njit(cache=True)
def count_contexts(
    actions: Ints, interactions: Ints, offsets: Ints, n_interactions: int, tables: Ints
) -> None:
    """Count each (context, action) that occurs, for contexts of the last 0, 1, 2, ... interactions.

    tables (lengths, rows, A): row `code` of table k counts the actions after the word with that
    code, its first interaction being the highest digit in base A * O.
    """
    for episode in range(len(offsets) - 1):
        first = offsets[episode]
        for t in range(first, offsets[episode + 1]):
            code = 0
            digit = 1
            for k in range(len(tables)):
                tables[k, code, actions[t]] += 1
                if t - k - 1 < first:
                    break
                code += interactions[t - k - 1] * digit
                digit *= n_interactions


@njit(cache=True)
def _add_reward(cell: Ints, features: Ints, weight: float, share: float, reward: float) -> None:
    """Add the sums of an action to `cell` (H, 4), for the features that are on."""
    w = min(weight, LARGEST_WEIGHT)
    v0 = np.int64(np.rint(w * share * UNIT))
    v1 = np.int64(np.rint(w * share * reward * UNIT))
    v2 = np.int64(np.rint(w * share * reward * reward * UNIT))
    v3 = np.int64(np.rint(w * w * share * SQUARE_UNIT))
    for f in features:
        cell[f, 0] += v0
        cell[f, 1] += v1
        cell[f, 2] += v2
        cell[f, 3] += v3


# The arguments are the arrays of one pass over a log, which numba takes one by one.
@njit(cache=True)
def _add_end(
    node: int,
    weight: float,
    part: float,
    left: int,
    observation: int,
    reward: float,
    features: Ints,
    children: Ints,
    rows: Ints,
    nodes: Ints,
    stats: Ints,
) -> None:
    """Add the steps after the end of a task, from a word on, for the `left` steps of the window.

    The observation and the reward repeat for all actions: every action counts as taken, with 1 / A
    of the weight. part: the weight of the window (`censoring`).
    """
    n_actions = stats.shape[1]
    n_observations = children.shape[1] // n_actions
    words = np.empty(n_actions * (left + 1) + 1, dtype=np.int64)  # still to do
    depths = np.empty(len(words), dtype=np.int64)
    words[0], depths[0] = node, 0
    waiting = 1
    while waiting > 0:
        waiting -= 1
        word, depth = words[waiting], depths[waiting]
        share = part * float(n_actions) ** -depth
        fixed = np.int64(np.rint(min(weight, LARGEST_WEIGHT) * share * UNIT))
        for f in features:
            nodes[word, f] += fixed
        for a in range(n_actions):
            if rows[word] >= 0:
                _add_reward(stats[rows[word], a], features, weight, share / n_actions, reward)
            child = children[word, a * n_observations + observation]
            if depth < left and child >= 0:
                words[waiting], depths[waiting] = child, depth + 1
                waiting += 1


# The arguments are the arrays of one pass over a log, which numba takes one by one.
@njit(cache=True)
def add_windows(
    columns: tuple[Ints, Ints, Floats, Floats, Floats],
    offsets: Ints,
    terminated: Bools,
    nothing: float,
    children: Ints,
    past: Ints,
    rows: Ints,
    depth: int,
    anchored: bool,
    nodes: Ints,
    stats: Ints,
) -> int:
    """Add the windows of a log to `nodes` (U, H) and `stats` (Z, A, H, 4); how many there were.

    columns (L,) each: actions, interactions, rewards within [-1, 1], weights, and shares,
    the weights of windows by their first step (`censoring`). A window at t needs steps t to
    t + depth, where depth is the longest word of the trie `children` (U, A * O), unless the episode
    terminated: then its last observation repeats, with the reward `nothing`.
    History features: 0 is always on, 1 at the first step of an episode; others are the nodes of
    the trie `past`, node k being feature k + 1, if the last interactions (anchored: all since the
    start) are that word. rows (U,): the row of each word in `stats`, or -1.
    """
    actions, interactions, rewards, weights, shares = columns
    n_observations = children.shape[1] // stats.shape[1]
    counted = 0
    features = np.zeros(16, dtype=np.int64)
    for episode in range(len(offsets) - 1):
        first, last = offsets[episode], offsets[episode + 1]
        ends = terminated[episode] and last > first
        for t in range(first, last if ends else last - depth):
            share = shares[t]
            if share == 0.0:
                continue
            counted += 1
            active = 1  # features[0] = 0, the constant
            if t == first:
                features[active] = 1
                active += 1
            node = 0
            back = t - 1
            while back >= first:
                node = past[node, interactions[back]]
                if node < 0 or active == len(features):
                    break
                if back == first or not anchored:
                    features[active] = node + 1
                    active += 1
                back -= 1
            on = features[:active]
            node = 0
            weight = 1.0
            for k in range(depth + 1):
                if t + k == last:
                    seen = interactions[last - 1] % n_observations
                    after = (seen, nothing, on, children, rows, nodes, stats)
                    _add_end(node, weight, share, depth - k, *after)
                    break
                fixed = np.int64(np.rint(min(weight, LARGEST_WEIGHT) * share * UNIT))
                for f in on:
                    nodes[node, f] += fixed
                weight *= weights[t + k]
                row = rows[node]
                if row >= 0:
                    _add_reward(stats[row, actions[t + k]], on, weight, share, rewards[t + k])
                if k == depth:
                    break
                node = children[node, interactions[t + k]]
                if node < 0:
                    break
    return counted
