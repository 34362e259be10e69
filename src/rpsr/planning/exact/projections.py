"""Projected vectors of an action, one set per observation, without irrelevant ones.

They are filtered, and small groups are summed and filtered again. A few cheap steps of incremental
pruning leave far fewer tuples for a search (see `branch_and_bound`).
"""

from __future__ import annotations

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.kernels import njit
from rpsr.planning.corners.moves import Moves
from rpsr.planning.corners.pruning import lark, whole


@njit(cache=True)
def project(
    moves: Moves,
    action: int,
    face: Ints,
    v: Floats,
    count: int,
    n_observations: int,
) -> tuple[Floats, Ints, Ints]:
    """Projected vectors of an action, restricted to a face, without dominated ones.

    v (k, at least K): vectors as columns. Returns g (f, L), source (L,), the vector that each
    column comes from, and first (O + 1,), where each observation's columns begin. A column
    is dropped if another one of the same observation equals or exceeds it everywhere.
    """
    k = len(v)
    full = np.zeros((n_observations, len(face), count))
    for r in range(len(face)):
        row = action * k + face[r]
        for entry in range(moves.indptr[row], moves.indptr[row + 1]):
            o, t, p = moves.observation[entry], moves.target[entry], moves.chance[entry]
            for i in range(count):
                full[o, r, i] += p * v[t, i]
    g = np.empty((len(face), n_observations * count))
    source = np.empty(n_observations * count, dtype=np.int64)
    first = np.zeros(n_observations + 1, dtype=np.int64)
    size = 0
    totals = np.empty(count)
    for o in range(n_observations):
        totals[:] = 0.0
        for r in range(len(face)):
            for i in range(count):
                totals[i] -= full[o, r, i]
        begin = size
        for i in np.argsort(totals, kind="mergesort"):  # stable: equal results when interpreted
            needed = True
            for j in range(size - 1, begin - 1, -1):
                above = True
                for r in range(len(face)):
                    if g[r, j] < full[o, r, i]:
                        above = False
                        break
                if above:
                    needed = False
                    break
            if needed:
                for r in range(len(face)):
                    g[r, size] = full[o, r, i]
                source[size] = i
                size += 1
        first[o + 1] = size
    return np.ascontiguousarray(g[:, :size]), source[:size].copy(), first


@njit(cache=True)
def needed(columns: Floats, tolerance: float, solved: float, budget: int) -> tuple[Ints, int]:
    """Which columns have the maximum of all, up to the tolerance, anywhere on the face.

    Returns them and the number of programs solved. After `budget` programs all remaining columns
    count as needed.
    """
    f, count = columns.shape
    if count == 1 or budget <= 0:
        return np.arange(count), 0
    sieve = whole(f, count)
    none = int(np.int64(0))  # for a literal, numba would compile the filter once more
    size, _, programs, _ = lark(columns, sieve, none, none, tolerance, solved, budget)
    for i in range(count):
        if sieve.alive[i]:
            sieve.kept[size] = i
            size += 1
    return sieve.kept[:size], programs


@njit(cache=True)
def thin(
    g: Floats,
    source: Ints,
    first: Ints,
    largest: int,
    tolerance: float,
    solved: float,
    budget: int,
) -> tuple[Floats, Ints, Ints, int]:
    """The relevant projected vectors, in fewer and smaller groups.

    Each observation's columns are filtered: few are left if vectors differ only at states that
    cannot follow the action. Then the two smallest groups are replaced by their filtered cross-sum,
    as long as it has at most `largest` columns. Returns g (f, L), source (L, O), the vector for
    each observation or -1 where another group has it, first (groups + 1,), and the number of
    programs solved; after `budget` programs the rest is not filtered. The error of the sum of the
    groups' maxima is at most (2 O - 1) times the tolerance, anywhere on the face.
    """
    f, n_observations = len(g), len(first) - 1
    size, programs = 0, 0
    owner = np.empty((g.shape[1], n_observations), dtype=np.int64)
    thinned = np.empty(g.shape)
    ends = np.zeros(len(first), dtype=np.int64)
    for o in range(n_observations):
        columns = np.ascontiguousarray(g[:, first[o] : first[o + 1]])
        kept, used = needed(columns, tolerance, solved, budget - programs)
        programs += used
        for j in kept:
            for s in range(f):
                thinned[s, size] = columns[s, j]
            owner[size] = -1
            owner[size, o] = source[first[o] + j]
            size += 1
        ends[o + 1] = size
    g, source, first = np.ascontiguousarray(thinned[:, :size]), owner[:size], ends
    while len(first) > 2 and programs < budget:
        a, b = 0, 1  # the two smallest groups
        if first[2] - first[1] < first[1]:
            a, b = 1, 0
        for o in range(2, len(first) - 1):
            if first[o + 1] - first[o] < first[a + 1] - first[a]:
                a, b = o, a
            elif first[o + 1] - first[o] < first[b + 1] - first[b]:
                b = o
        width = first[b + 1] - first[b]
        total = (first[a + 1] - first[a]) * width
        if total > largest:
            break
        sums = np.empty((f, total))
        for c in range(total):
            for s in range(f):
                sums[s, c] = g[s, first[a] + c // width] + g[s, first[b] + c % width]
        kept, used = needed(sums, tolerance, solved, budget - programs)
        programs += used
        size = g.shape[1] - width - (first[a + 1] - first[a])
        thinned = np.empty((f, size + len(kept)))
        owner = np.empty((size + len(kept), n_observations), dtype=np.int64)
        ends = np.zeros(len(first) - 1, dtype=np.int64)
        size, groups = 0, 0
        for o in range(len(first) - 1):
            if o in (a, b):
                continue
            for j in range(first[o], first[o + 1]):
                for s in range(f):
                    thinned[s, size] = g[s, j]
                for q in range(n_observations):
                    owner[size, q] = source[j, q]
                size += 1
            groups += 1
            ends[groups] = size
        for c in kept:
            i, j = first[a] + c // width, first[b] + c % width
            for s in range(f):
                thinned[s, size] = sums[s, c]
            for o in range(n_observations):
                owner[size, o] = max(source[i, o], source[j, o])
            size += 1
        ends[groups + 1] = size
        g, source, first = thinned, owner, ends
    return g, source, first, programs
