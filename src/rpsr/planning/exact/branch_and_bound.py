"""Branch and bound on the Bellman residual, max (HV - V) over a face.

For an action, the vectors of HV are r + sum_o g_o with one projected vector g_o per observation,
too many to enumerate. So the projected vectors of each observation are put in a binary tree whose
nodes have pointwise maxima. A tuple of nodes, one per observation, represents all tuples of vectors
below them, and w = r + the sum of its maxima is above each of their sums. One linear program (see
`simplex_method`) bounds max_x (w.x - V(x)). If the bound is at most the cutoff, all those tuples
are done. Otherwise the true backup is computed at the program's point. If it exceeds V by the
cutoff, its vector is added. If not, the maxima are too loose there, and the observation with the
largest slack is split in two. Leaves are single vectors of HV, and every tuple is below the roots.
So when no tuple is left, HV <= V + cutoff at every mixture of the face's corners.

Before that, irrelevant projected vectors are removed (see `projections`).

New vectors join V at once, which only lowers the bounds still to be proven. A search that adds none
has proven the residual of V itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.kernels import njit
from rpsr.planning.corners.covering import pick
from rpsr.planning.corners.simplex_method import best_gain, evaluate, workspace, worst_excess
from rpsr.planning.limits import Clock

PIVOTS = 16  # of the whole basis: an estimate for one program, which cannot be interrupted
FINISHED, FULL, PAUSED, STUCK = 0, 1, 2, 3  # why `search` returned


class Trees(NamedTuple):
    """A tree of pointwise maxima for each observation, over projected vectors.

    g (f, L): these vectors as columns. first (O + 1,): the first column of each observation. maxima
    (nodes, f).
    child (nodes, 2): two nodes, or -1 and the column of g at a leaf.
    """

    g: Floats
    first: Ints
    maxima: Floats
    child: Ints


class Found(NamedTuple):
    """V on a face and the vectors that a search adds, up to a capacity.

    u (f, capacity): vectors as columns. For added ones: tuples (capacity, O), the columns of g that
    they are sums of, and points (capacity, f), where they were found.
    """

    u: Floats
    tuples: Ints
    points: Floats


class Wanted(NamedTuple):
    """The thresholds of a search.

    cutoff: the bound to prove. enough: the gain needed to add a vector. solved: a program
    with bounds closer than this is solved. tie: two vectors this close at a point are equal.
    """

    cutoff: float
    enough: float
    solved: float
    tie: float


@njit(cache=True)
def grow_trees(g: Floats, first: Ints) -> tuple[Trees, Ints, int]:
    """The trees over projected vectors, their roots (O,) and their depth.

    depth: the largest number of splits between the roots and a tuple of leaves.
    A set is split at the median of the corner where its values have the largest range.
    """
    f, columns = g.shape
    n_observations = len(first) - 1
    maxima = np.empty((2 * columns, f))
    child = np.empty((2 * columns, 2), dtype=np.int64)
    roots = np.empty(n_observations, dtype=np.int64)
    order = np.arange(columns)
    waiting = np.empty((2 * columns, 4), dtype=np.int64)  # node, begin, end, level
    nodes, depth = 0, 0
    for o in range(n_observations):
        roots[o] = nodes
        waiting[0, 0], waiting[0, 1] = nodes, first[o]
        waiting[0, 2], waiting[0, 3] = first[o + 1], 0
        nodes += 1
        size, deepest = 1, 0
        while size > 0:
            size -= 1
            node, begin, end, level = waiting[size]
            deepest = max(deepest, level)
            widest, corner = -1.0, 0
            for r in range(f):
                low = high = g[r, order[begin]]
                for j in range(begin + 1, end):
                    low, high = min(low, g[r, order[j]]), max(high, g[r, order[j]])
                maxima[node, r] = high
                if high - low > widest:
                    widest, corner = high - low, r
            if end - begin == 1:
                child[node, 0], child[node, 1] = -1, order[begin]
                continue
            members = order[begin:end].copy()
            ranked = np.argsort(g[corner][members], kind="mergesort")
            for j in range(len(members)):
                order[begin + j] = members[ranked[j]]
            middle = (begin + end) // 2
            for side in range(2):
                child[node, side] = nodes + side
                waiting[size + side, 0] = nodes + side
                waiting[size + side, 1] = middle if side == 1 else begin
                waiting[size + side, 2] = end if side == 1 else middle
                waiting[size + side, 3] = level + 1
            size += 2
            nodes += 2
        depth += deepest
    return Trees(g, first, maxima[:nodes], child[:nodes]), roots, depth


@njit(cache=True)
def best_projections(
    g: Floats, first: Ints, totals: Floats, x: Floats, tie: float, columns: Ints, best: Floats
) -> None:
    """The best projected vector of each observation at x: its column and its value there.

    Among ties the one with the largest sum of values.
    """
    scores = np.empty(g.shape[1])
    evaluate(g, g.shape[1], x, scores)
    for o in range(len(first) - 1):
        columns[o] = pick(scores, totals, first[o], first[o + 1], tie)
        best[o] = scores[columns[o]]


@njit(cache=True)
def search(
    storage: Found,
    count: int,
    r: Floats,
    trees: Trees,
    stack: Ints,
    depth: int,
    wanted: Wanted,
    budget: int,
) -> tuple[int, int, int, int, float]:
    """Part of the search of one action: (why, count, depth, programs, residual).

    count: the number of vectors; new ones are appended. r (f,): rewards. stack (.., O):
    tuples of tree nodes still to be examined, the first `depth`.
    residual: the largest bound proven in this call. why: FINISHED, FULL (no capacity left), PAUSED
    (after `budget` programs), STUCK (the top of the stack is a single vector of HV whose program
    was not solved).
    """
    u, tuples, points = storage
    g, first, maxima, child = trees
    cutoff, enough, solved, tie = wanted
    f, capacity = u.shape
    n_observations = len(first) - 1
    space = workspace(f, capacity)
    point, scores = space.point, space.scores
    w, best = np.empty(f), np.empty(n_observations)
    columns = np.empty(n_observations, dtype=np.int64)
    totals = np.zeros(g.shape[1])
    for s in range(f):
        for j in range(g.shape[1]):
            totals[j] += g[s, j]
    residual = -np.inf
    programs = 0
    while depth > 0:
        if programs >= budget:
            return PAUSED, count, depth, programs, residual
        for s in range(f):
            w[s] = r[s]
        for o in range(n_observations):
            node = stack[depth - 1, o]
            for s in range(f):
                w[s] += maxima[node, s]
        programs += 1
        near = worst_excess(u, count, w, scores)
        upper, lower = scores[near], -np.inf
        if upper > cutoff:
            upper, lower, _ = best_gain(u, count, w, near, cutoff, solved, space)
        if upper <= cutoff:
            residual = max(residual, upper)
            depth -= 1
            continue
        best_projections(g, first, totals, point, tie, columns, best)
        gain = lower  # of the tuple; minus the slack, that of the true backup
        slack = 0.0
        split = -1
        for o in range(n_observations):
            node = stack[depth - 1, o]
            loose = -best[o]
            for s in range(f):
                loose += maxima[node, s] * point[s]
            gain -= loose
            if child[node, 0] >= 0 and (split < 0 or loose > slack):
                slack = loose
                split = o
        if gain > enough:
            if count == capacity:
                return FULL, count, depth, programs, residual
            for s in range(f):
                total = r[s]
                for o in range(n_observations):
                    total += g[s, columns[o]]
                u[s, count] = total
                points[count, s] = point[s]
            for o in range(n_observations):
                tuples[count, o] = columns[o]
            count += 1
            continue
        if split < 0:
            return STUCK, count, depth, programs, residual
        # The half that is higher at the point is examined first.
        node = stack[depth - 1, split]
        left, right = child[node, 0], child[node, 1]
        difference = 0.0
        for s in range(f):
            difference += (maxima[left, s] - maxima[right, s]) * point[s]
        if difference > 0.0:
            left, right = right, left
        for o in range(n_observations):
            stack[depth, o] = stack[depth - 1, o]
        stack[depth - 1, split] = left
        stack[depth, split] = right
        depth += 1
    return FINISHED, count, depth, programs, residual


def rise(u: Floats, count: int, solved: float, clock: Clock) -> float:
    """The largest amount by which vectors of u (f, K) after the first `count` exceed these.

    Not compiled, unlike the program: another copy of it would take seconds to compile.
    """
    f, program = len(u), PIVOTS * (len(u) + 1.0) ** 2
    space, new = workspace(f, count), np.ascontiguousarray(u[:, count:].T)
    highest = 0.0
    for part in clock.parts(len(new), program):
        clock.foresee((part.stop - part.start) * program, "one more group of linear programs")
        for w in new[part]:
            near = worst_excess(u, count, w, space.scores)
            if space.scores[near] > highest:
                upper, _, _ = best_gain(u, count, w, near, highest, solved, space)
                highest = max(highest, upper)
    return highest
