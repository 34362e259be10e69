"""Selects vectors to keep: one for every point, and their successors."""

from __future__ import annotations

import numpy as np

from rpsr.io.records import Bools, Floats, Ints
from rpsr.kernels import njit
from rpsr.planning.corners.simplex_method import evaluate


@njit(cache=True)
def pick(scores: Floats, totals: Floats, begin: int, end: int, tie: float) -> int:
    """The index of the best score of begin..end-1; among ties, of the largest total, the first."""
    best = begin
    for i in range(begin + 1, end):
        if scores[i] > scores[best] + tie or (
            scores[i] >= scores[best] - tie and totals[i] > totals[best]
        ):
            best = i
    return best


@njit(cache=True)
def sums(v: Floats) -> Floats:
    """The sum of each column of v (k, K)."""
    totals = np.zeros(v.shape[1])
    for s in range(len(v)):
        for i in range(v.shape[1]):
            totals[i] += v[s, i]
    return totals


@njit(cache=True)
def distinct(choices: Ints) -> Ints:
    """The first of each of the distinct rows of choices (P, C), (M,)."""
    first = np.empty(len(choices), dtype=np.int64)
    key = np.empty(len(choices), dtype=np.int64)
    count = 0
    for p in range(len(choices)):
        mixed = np.int64(0)
        for c in range(choices.shape[1]):
            mixed = mixed * 1_000_003 + choices[p, c]
        known = False
        for m in range(count):
            known = key[m] == mixed
            for c in range(choices.shape[1]):
                known = known and choices[first[m], c] == choices[p, c]
            if known:
                break
        if not known:
            key[count], first[count] = mixed, p
            count += 1
    return first[:count].copy()


@njit(cache=True)
def cover(values: Floats, old: int, points: Floats, slack: float, wanted: Bools) -> float:
    """Mark vectors (K, k) until every point has one within `slack` of its best.

    Returns the largest amount by which the best exceeds the best of the last `old` vectors.
    """
    v = np.ascontiguousarray(values.T)
    scores = np.empty(len(values))
    gain = -np.inf
    for p in range(len(points)):
        evaluate(v, len(values), points[p], scores)
        top = 0
        before = -np.inf
        for i in range(len(values)):
            if scores[i] > scores[top]:
                top = i
            if i >= len(values) - old:
                before = max(before, scores[i])
        gain = max(gain, scores[top] - before)
        covered = False
        for i in range(len(values)):
            if wanted[i] and scores[i] >= scores[top] - slack:
                covered = True
                break
        wanted[top] |= not covered
    return gain


@njit(cache=True)
def close(values: Floats, choices: Ints, slack: float, wanted: Bools) -> Ints:
    """Mark, in place, the successors of wanted vectors; returns each vector's stand-in, (K,).

    A wanted vector is the stand-in of every vector that it exceeds everywhere, up to `slack`.
    """
    deputy = np.full(len(wanted), -1)
    waiting = np.empty(len(wanted), dtype=np.int64)
    size = 0
    for m in range(len(wanted)):
        if wanted[m]:
            deputy[m] = m
            waiting[size] = m
            size += 1
    while size > 0:
        size -= 1
        m = waiting[size]
        for c in range(1, choices.shape[1]):
            after = choices[m, c]
            if deputy[after] >= 0:
                continue
            for i in range(len(wanted)):
                if not wanted[i]:
                    continue
                below = True
                for s in range(values.shape[1]):
                    if values[after, s] > values[i, s] + slack:
                        below = False
                        break
                if below:
                    deputy[after] = i
                    break
            if deputy[after] < 0:
                deputy[after] = after
                wanted[after] = True
                waiting[size] = after
                size += 1
    return deputy
