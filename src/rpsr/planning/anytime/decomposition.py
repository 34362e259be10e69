"""A better decomposition of a belief into points: a few pivots of a simplex from the corners.

    min sum_j w_j V(j)   subject to   sum_j w_j x_j = x, w >= 0,     V(j) = max_a Q(j, a)

over corners and pooled points j. The corners alone are a feasible basis, w = x. The best single
exchange of a corner for a point is the classic sawtooth; each further pivot is a bound as well, so
the search may stop anywhere. Pivots try only the points that would help most as the first one. The
inverse of the basis is kept as a product of exchanges, since there are few. The result is checked:
weights are scaled so that their sum is at most x at every corner. If the remainder exceeds
rounding, the old weights are kept.

References: M. Hauskrecht, JAIR 13 (2000), and T. Smith and R. Simmons, Point-based POMDP
algorithms: improved analysis and implementation, UAI 2005, for the sawtooth.
"""

from __future__ import annotations

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.kernels import njit
from rpsr.planning.anytime.belief_graph import Graph, Scratch, interpolate

LEAST = 1e-9  # the smallest pivot
CANDIDATES = 24  # the points that are tried at every pivot: those that help most as the first one
LEFT_OVER = 1e-13  # the largest remainder of a decomposition, relative to the belief


@njit(cache=True)
def worth(graph: Graph, p: int) -> float:
    """V of a point: its best Q."""
    best = graph.value[0, p, 0]
    for a in range(1, graph.value.shape[2]):
        best = max(best, graph.value[0, p, a])
    return best


@njit(cache=True)
def exchange(etas: Floats, leaving: Ints, count: int, column: Floats) -> None:
    """The column of a point in terms of the current basis, in place."""
    for e in range(count):
        r = leaving[e]
        pivot = column[r]
        if pivot != 0.0:
            column[r] = 0.0
            for i in range(len(column)):
                column[i] += etas[e, i] * pivot


@njit(cache=True)
def step_length(level: Floats, column: Floats) -> tuple[float, int]:
    """The step length of a column in the basis, and the blocking row."""
    theta, row = 2.0, -1
    for r in range(len(level)):
        if column[r] > LEAST and level[r] < theta * column[r]:
            theta, row = level[r] / column[r], r
    return theta, row


@njit(cache=True)
def decompose(graph: Graph, scratch: Scratch, i: int, pivots: int, least: float) -> float:
    """Improve the weights of node i by at most this many pivots; its upper bound.

    least: smaller improvements do not justify a pivot.
    """
    counts, node, corner, share, row = (
        graph.counts,
        graph.node,
        graph.corner,
        graph.share,
        scratch.row,
    )
    begin, size = node[i]["begin"], node[i]["length"]
    node[i]["seen"] = counts["pooled"]
    if size == 1:
        return interpolate(graph, i)
    level, cost = np.empty(size), np.empty(size)
    basic, leaving = np.empty(size, np.int64), np.empty(pivots, np.int64)
    for r in range(size):
        s = int(np.int64(corner[begin + r]))
        row[s] = r
        level[r] = share[begin + r]
        basic[r] = s
        cost[r] = worth(graph, s)
    # The best points within the face of x, each judged by its exchange for a corner.
    candidates, merit = np.empty(CANDIDATES, np.int64), np.empty(CANDIDATES)
    n_candidates, best, ops, enough = 0, least, 0, least
    # For literals, numba would compile what they are passed to once more.
    none, done = int(np.int64(-1)), int(np.int64(0))
    enter = none
    outside = ~node[i]["sign"]
    following = graph.ends[graph.of[corner[begin]], 0]
    while following >= 0:
        c = following
        following = graph.chain[c]
        gain = graph.gain[c]
        ops += 1
        if gain <= least:
            continue
        p = graph.pool[c]
        j = graph.point[p]["node"]
        if node[j]["sign"] & outside or node[j]["length"] > size or j == i:
            continue
        theta, first = 1.0, node[j]["begin"]
        t, end = first, first + node[j]["length"]
        while t < end and theta * gain > enough:
            r = row[corner[t]]
            if r < 0:
                theta = 0.0
            elif theta * share[t] > level[r]:
                theta = level[r] / share[t]
            t += 1
        ops += t - first
        if theta * gain <= enough:
            continue
        if theta * gain > best:
            best, enter = theta * gain, p
        place = n_candidates
        if n_candidates < CANDIDATES:
            n_candidates += 1
        else:
            place = merit.argmin()
        candidates[place], merit[place] = p, theta * gain
        if n_candidates == CANDIDATES:
            enough = merit.min()
    etas = np.empty((pivots, size))
    column, entering, price = np.empty(size), np.empty(size), np.empty(size)
    while enter >= 0:
        fill(graph, row, enter, entering)
        exchange(etas, leaving, done, entering)
        theta, r = step_length(level, entering)
        if r < 0:
            break
        for q in range(size):
            level[q] = max(level[q] - theta * entering[q], 0.0)
            etas[done, q] = -entering[q] / entering[r]
        etas[done, r] = 1.0 / entering[r]
        leaving[done] = r
        level[r], basic[r], cost[r] = theta, enter, worth(graph, enter)
        done += 1
        if done == pivots:
            break
        price[:] = cost
        for e in range(done - 1, -1, -1):
            total = 0.0
            for q in range(size):
                total += price[q] * etas[e, q]
            price[leaving[e]] = total
        best, enter = least, none
        for c in range(n_candidates):
            p = candidates[c]
            j = graph.point[p]["node"]
            reduced = -worth(graph, p)
            for t in range(node[j]["begin"], node[j]["begin"] + node[j]["length"]):
                reduced += share[t] * price[row[corner[t]]]
            ops += node[j]["length"]
            if reduced <= best:
                continue
            fill(graph, row, p, column)
            exchange(etas, leaving, done, column)
            ops += size * (done + 1)
            theta, _ = step_length(level, column)
            if theta * reduced > best:
                best, enter = theta * reduced, p
    counts["ops"] += ops
    if done > 0:
        adopt(graph, row, i, basic, level)
    for r in range(size):
        row[corner[begin + r]] = -1
    return interpolate(graph, i)


@njit(cache=True)
def fill(graph: Graph, row: Ints, p: int, column: Floats) -> None:
    """A point's belief over the rows of the program."""
    j = graph.point[p]["node"]
    column[:] = 0.0
    for t in range(graph.node[j]["begin"], graph.node[j]["begin"] + graph.node[j]["length"]):
        column[row[graph.corner[t]]] = graph.share[t]


@njit(cache=True)
def adopt(graph: Graph, row: Ints, i: int, basic: Ints, level: Floats) -> None:
    """Replace the weights, if the new ones sum to the belief and give a lower bound than before."""
    node, corner, share, value = graph.node, graph.corner, graph.share, graph.value
    begin, size = node[i]["begin"], node[i]["length"]
    total = np.zeros(size)
    for r in range(size):
        if level[r] > 0.0:
            j = graph.point[basic[r]]["node"]
            for t in range(node[j]["begin"], node[j]["begin"] + node[j]["length"]):
                total[row[corner[t]]] += level[r] * share[t]
    scale = 1.0
    for r in range(size):
        if scale * total[r] > share[begin + r]:
            scale = share[begin + r] / total[r]
    left = 0.0
    for r in range(size):
        left += share[begin + r] - scale * total[r]
    best = -np.inf
    for a in range(value.shape[2]):
        bound = 0.0
        for r in range(size):
            bound += scale * level[r] * value[0, basic[r], a]
        best = max(best, bound)
    if left > LEFT_OVER or best >= graph.bound[i]["upper"]:
        return
    if node[i]["held"] == begin:  # the first one: until now, the weights were the mixture's entries
        node[i]["held"] = graph.counts["entries"]
        graph.counts["entries"] += size
    held, count = node[i]["held"], 0
    for points in (False, True):  # corners come first
        for r in range(size):
            if level[r] > 0.0 and (basic[r] >= len(graph.of)) == points:
                corner[held + count] = basic[r]
                share[held + count] = scale * level[r]
                count += 1
        if not points:
            node[i]["corners"] = count
    node[i]["weights"], node[i]["fallen"] = count, -1
