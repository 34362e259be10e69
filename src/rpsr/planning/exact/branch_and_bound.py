"""Branch and bound on the Bellman residual: how far is HV above V, at worst over a face?

For an action, the vectors of HV are r + sum_o g_o with one projected vector g_o for each
observation, far too many to list. So the projected vectors of each observation are put in a binary
tree whose nodes hold pointwise maxima. A tuple of nodes, one for each observation, stands for all
tuples of vectors below them, and w = r + the sum of its maxima is above each of their sums. One
program (see `simplex`) bounds max_x (w.x - V(x)). At most the cutoff: all those tuples are done
with. Otherwise look at the true backup at the program's point: if it beats V by the cutoff, it is
a vector worth adding; if not, the maxima are too loose there, and the observation with the largest
slack is split in two. Leaves are single vectors of HV, every tuple is below the roots, so when
nothing is left, HV <= V + cutoff at every mixture of the face's corners.

Before that, the projected vectors are filtered, and small groups of them summed and filtered again:
a step or two of incremental pruning, as long as it stays cheap, leaves far fewer tuples.

Vectors that are found join V at once, which only lowers the bounds that are still to be proven.
A search that found none has proven the residual of V itself.
"""

from __future__ import annotations

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.kernels import njit
from rpsr.planning.corners.moves import Moves
from rpsr.planning.corners.pruning import lark
from rpsr.planning.corners.simplex import best_gain, evaluate
from rpsr.planning.limits import Clock

PIVOTS = 16  # of the whole basis: a guess of what one program takes, which no clock can stop
FINISHED, FULL, PAUSED, STUCK = 0, 1, 2, 3  # why `search` returned


@njit(cache=True)
def project(
    moves: Moves,
    action: int,
    face: Ints,
    v: Floats,
    count: int,
    n_observations: int,
) -> tuple[Floats, Ints, Ints]:
    """Projected vectors of an action, restricted to a face, without those that cannot matter.

    v (k, at least K): vectors as columns. Returns g (f, L), source (L,), the vector that each
    column comes from, and first (O + 1,), where each observation's columns begin. Columns that
    another one of their observation exceeds or equals everywhere are left out.
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
        for i in np.argsort(totals, kind="mergesort"):  # stable: the same when interpreted
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

    Returns them and the number of programs that it took. After `budget` programs those not yet
    looked at count as needed.
    """
    f, count = columns.shape
    if count == 1 or budget <= 0:
        return np.arange(count), 0
    alive, kept = np.ones(count, dtype=np.bool_), np.zeros(count, dtype=np.int64)
    none = int(np.int64(0))  # for a literal, numba would compile the filter once more
    size, _, programs, _ = lark(
        columns, alive, kept, np.empty((f, count)), none, none, tolerance, solved, budget
    )
    for i in range(count):
        if alive[i]:
            kept[size] = i
            size += 1
    return kept[:size], programs


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
    """The projected vectors that matter, in fewer and smaller groups.

    Each observation's columns are filtered: where vectors tell apart states that cannot follow an
    action, few are left. Then the two smallest groups are replaced by their cross-sum, filtered,
    as long as it has no more than `largest` columns. Returns g (f, L), source (L, O), the vector
    for each observation or -1 where another group has it, first (groups + 1,), and how many
    programs it took: after `budget` of them what is left to be filtered stays as it is. The sum
    of the groups' maxima is off by at most (2 O - 1) times the tolerance, anywhere on the face.
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


@njit(cache=True)
def plant(g: Floats, first: Ints) -> tuple[Floats, Ints, Ints, int]:
    """A tree of pointwise maxima for each observation: (maxima, child, roots, depth).

    maxima (nodes, f). child (nodes, 2): two nodes, or -1 and the column of g at a leaf.
    depth: no more splits than this lead from the roots to a tuple of leaves.
    A set is split at the median of the corner where its values are spread widest.
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
    return maxima[:nodes], child[:nodes], roots, depth


@njit(cache=True)
def backup_at(
    g: Floats, first: Ints, totals: Floats, x: Floats, tie: float, columns: Ints, best: Floats
) -> None:
    """The best projected vector of each observation at x: its column and its value there.

    Among ties the one with the largest sum of values.
    """
    scores = np.empty(g.shape[1])
    evaluate(g, g.shape[1], x, scores)
    for o in range(len(first) - 1):
        top = first[o]
        for j in range(first[o] + 1, first[o + 1]):
            if scores[j] > scores[top] + tie or (
                scores[j] >= scores[top] - tie and totals[j] > totals[top]
            ):
                top = j
        columns[o] = top
        best[o] = scores[top]


@njit(cache=True)
def search(
    u: Floats,
    count: int,
    r: Floats,
    g: Floats,
    first: Ints,
    maxima: Floats,
    child: Ints,
    stack: Ints,
    depth: int,
    cutoff: float,
    enough: float,
    solved: float,
    tie: float,
    budget: int,
    tuples: Ints,
    points: Floats,
) -> tuple[int, int, int, int, float]:
    """Part of the search of one action: (why, count, depth, programs, residual).

    u (f, capacity): V on the face, vectors as columns, the first `count`; those found are
    appended, the columns of g they are sums of in tuples (capacity, O), where they were found in
    points (capacity, f). stack (.., O): tuples of tree nodes still to be looked at, the first
    `depth`. cutoff: what is to be proven; enough: a gain that is worth a vector.
    residual: the largest bound proven in this call. why: FINISHED, FULL (no capacity left), PAUSED
    (after `budget` programs), STUCK (the top of the stack is a single vector of HV whose program
    was not solved).
    """
    f, capacity = u.shape
    n_observations = len(first) - 1
    w, point, best = np.empty(f), np.empty(f), np.empty(n_observations)
    columns = np.empty(n_observations, dtype=np.int64)
    chosen, mix = np.zeros(f + 1, dtype=np.int64), np.zeros(f + 1)
    inverse, work = np.empty((f + 1, f + 1)), np.empty((f + 1, f + 1))
    scores = np.empty(capacity)
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
        upper, lower, _ = best_gain(
            u, count, w, cutoff, solved, point, chosen, mix, inverse, work, scores
        )
        if upper <= cutoff:
            residual = max(residual, upper)
            depth -= 1
            continue
        backup_at(g, first, totals, point, tie, columns, best)
        gain = lower  # of the tuple; less the slack it is that of the true backup
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
        # The half that is higher at the point is looked at first.
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
    """How far the vectors of u (f, K) after the first `count` rise above those, at most.

    Not compiled: the program is, and another copy of it would take seconds to compile.
    """
    f = len(u)
    clock.foresee(PIVOTS * (f + 1.0) ** 2)
    point, mix, chosen = np.empty(f), np.empty(f + 1), np.empty(f + 1, dtype=np.int64)
    inverse, work, scores = np.empty((f + 1, f + 1)), np.empty((f + 1, f + 1)), np.empty(count)
    highest = 0.0
    for w in np.ascontiguousarray(u[:, count:].T):
        upper, _, _ = best_gain(
            u, count, w, highest, solved, point, chosen, mix, inverse, work, scores
        )
        highest = max(highest, upper)
        clock.check()
        clock.foresee(PIVOTS * (f + 1.0) ** 2)
    return highest
