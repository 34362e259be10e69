"""Compiled passes over a log: counting contexts, and adding up the moments of windows.

Both loop over steps and add integers, so that the sum over a log does not depend on how it was cut
or in which order its parts were added. Each kernel has its plain Python version as `.py_func`, the
oracle of its tests.

A pair is a * O + o, a word a sequence of pairs. Vocabularies are tries, children (nodes, A * O),
with -1 where there is none and the empty word as node 0; histories grow backwards in time.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from rpsr.io.records import Floats, Ints

UNIT = 2.0**30  # weights and weighted rewards are added up in units of 2^-30
SQUARE_UNIT = 2.0**20  # squared weights in units of 2^-20
LARGEST_WEIGHT = 1024.0  # of a window, over a uniform policy's: more would only add noise
WEIGHT, REWARD, REWARD2, WEIGHT2 = range(4)  # the sums of an action: w, w r, w r^2, w^2


@njit(cache=True)
def count_contexts(
    actions: Ints, pairs: Ints, offsets: Ints, n_actions: int, n_pairs: int, tables: Ints
) -> None:
    """Add 1 to each (context, action) that occurs, contexts being the last 0, 1, 2, ... pairs.

    tables (lengths, rows, A): row `code` of table k counts the actions after the word of k pairs
    with that code, its first pair being the highest digit in base A * O.
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
                code += pairs[t - k - 1] * digit
                digit *= n_pairs


@njit(cache=True)
def add_windows(
    columns: tuple[Ints, Ints, Floats, Floats],
    offsets: Ints,
    children: Ints,
    past: Ints,
    rows: Ints,
    depth: int,
    anchored: bool,
    nodes: Ints,
    stats: Ints,
) -> int:
    """Add the windows of a log to `nodes` (U, H) and `stats` (Z, A, H, 4); how many there were.

    columns: actions (L,), pairs (L,), rewards (L,) within [-1, 1], weights (L,). A window at t
    needs steps t to t + depth, depth being the longest word of the trie `children` (U, A * O).
    History features: 0 is always there, 1 at the first step of an episode; others are the nodes of
    the trie `past`, node k being feature k + 1, if the last pairs (anchored: all pairs since the
    start) are that word. rows (U,): the row of each word in `stats`, or -1.
    """
    actions, pairs, rewards, weights = columns
    found = 0
    features = np.zeros(16, dtype=np.int64)
    for episode in range(len(offsets) - 1):
        first = offsets[episode]
        for t in range(first, offsets[episode + 1] - depth):
            found += 1
            active = 1  # features[0] = 0, the constant
            if t == first:
                features[active] = 1
                active += 1
            node = 0
            back = t - 1
            while back >= first:
                node = past[node, pairs[back]]
                if node < 0 or active == len(features):
                    break
                if back == first or not anchored:
                    features[active] = node + 1
                    active += 1
                back -= 1
            node = 0
            weight = 1.0
            for k in range(depth + 1):
                fixed = np.int64(np.rint(min(weight, LARGEST_WEIGHT) * UNIT))
                for f in range(active):
                    nodes[node, features[f]] += fixed
                weight *= weights[t + k]
                row = rows[node]
                if row >= 0:
                    w = min(weight, LARGEST_WEIGHT)
                    r = rewards[t + k]
                    v0 = np.int64(np.rint(w * UNIT))
                    v1 = np.int64(np.rint(w * r * UNIT))
                    v2 = np.int64(np.rint(w * r * r * UNIT))
                    v3 = np.int64(np.rint(w * w * SQUARE_UNIT))
                    cell = stats[row, actions[t + k]]
                    for f in range(active):
                        cell[features[f], 0] += v0
                        cell[features[f], 1] += v1
                        cell[features[f], 2] += v2
                        cell[features[f], 3] += v3
                if k == depth:
                    break
                node = children[node, pairs[t + k]]
                if node < 0:
                    break
    return found
