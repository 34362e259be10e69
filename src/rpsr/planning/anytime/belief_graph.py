"""The belief graph of an anytime search, as flat arrays for compiled kernels.

A node is a mixture of corners (see `corner_model`), stored sparsely and found again through a hash
table. The first k nodes are the corners themselves. Some nodes are *points*: they carry an upper
bound Q(point, action) for every action, and the first k points are the corners. Edges lead from a
point to what its actions may show: action, observation, node, and chance, discount included.

Every node also holds a decomposition into points, weights w >= 0 with sum_j w_j x_j = x; it starts
as the mixture of corners that the node is. The optimal Q(., a) is convex and homogeneous, hence

    V(x) = max_a Q(x, a) <= max_a sum_j w_j Q(j, a),

whatever the weights are and however the Q's fall later: weights stay valid for ever.

Beliefs that differ by at most `tau` in the 1-norm are one node; what that may cost is in the margin
that the search adds to its upper bound (lower bounds do not depend on it).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.kernels import njit
from rpsr.planning.corners.moves import Moves

Array = Any  # an array of a narrower type than the annotations of `records` know

# counts
NODES, ENTRIES, EDGES, POINTS, POOL, POOLED, VECTORS, COLUMNS, OPS, ROUND = range(10)
DEPTH, UPWARD, CURSOR, LOOKED, COUNTS = range(10, 15)
# columns of `node` and of `bound`
BEGIN, LENGTH, POINT, WEIGHTS, SEEN, SIGN, VECTOR, SCANNED, NODE_COLUMNS = range(9)
UPPER, LOWER = 0, 1
# columns of `point` and of `edge`
NODE, FIRST, LAST, LIVE, POINT_COLUMNS = range(5)
ACTION, OBSERVATION, CHILD = range(3)
SIGN_BITS = 62
GRID = 2.0**20  # beliefs are hashed by their entries in this fixed point


class Graph(NamedTuple):
    """counts (COUNTS,); nodes N, entries E, points P, edges M as capacities.

    corner (2, E) and share (2, E): the mixture that a node is, and its weights over points.
    node (N, NODE_COLUMNS), bound (N, 2). table: the hash table, node + 1.
    point (P, POINT_COLUMNS). value (2, P, A): Q(point, action), and the reward earned there.
    edge (M, 3), chance (M,). pool (P,) and gain (P,): the points that decompositions may use, and
    how far each lies below what the corners say of it.
    """

    counts: Ints
    corner: Array
    share: Floats
    node: Ints
    bound: Floats
    table: Ints
    point: Ints
    value: Floats
    edge: Array
    chance: Floats
    pool: Ints
    gain: Floats


class Knobs(NamedTuple):
    """What kernels are told.

    discount: at least every row's sum. tau: beliefs this close are one node. least: an improvement
    of a bound that is not worth making. pivots: of a decomposition. stale: weights are out of date
    when the points ever pooled have grown by this factor. selective: whether trials end early where
    they will not change the start. root: the node of the start. fallback: the point whose children
    stand in for observations that cannot be made where a backup happens.
    """

    discount: float
    tau: float
    least: float
    pivots: int
    stale: float
    selective: bool
    root: int
    fallback: int


class Scratch(NamedTuple):
    """joint (O * k,) and row (k,): zeros and -1 between calls; touched (O * k,)."""

    joint: Floats
    touched: Ints
    row: Ints


@njit(cache=True)
def locate(graph: Graph, length: int, tau: float) -> int:
    """The node whose entries have been written at the end; a new one where there is none yet."""
    counts, corner, share, node, table = (
        graph.counts,
        graph.corner,
        graph.share,
        graph.node,
        graph.table,
    )
    begin = counts[ENTRIES]
    key, sign = 7, 0
    for t in range(begin, begin + length):
        key = (key * 1000003 + int(corner[0, t]) * 8191 + int(share[0, t] * GRID)) & 0x7FFFFFFF
        sign |= 1 << (int(corner[0, t]) % SIGN_BITS)
    slot = key & (len(table) - 1)
    while table[slot] != 0:
        other = table[slot] - 1
        if node[other, LENGTH] == length and node[other, SIGN] == sign:
            shift, first = 0.0, node[other, BEGIN]
            for t in range(length):
                if corner[0, first + t] != corner[0, begin + t]:
                    shift = np.inf
                    break
                shift += abs(share[0, first + t] - share[0, begin + t])
            if shift <= tau:
                return other
        slot = (slot + 1) & (len(table) - 1)
    i = counts[NODES]
    table[slot] = i + 1
    counts[NODES] += 1
    counts[ENTRIES] += length
    for t in range(begin, begin + length):
        corner[1, t] = corner[0, t]
        share[1, t] = share[0, t]
    node[i, BEGIN] = begin
    node[i, LENGTH] = node[i, WEIGHTS] = length
    node[i, POINT] = node[i, VECTOR] = -1
    node[i, SEEN] = node[i, SCANNED] = 0
    node[i, SIGN] = sign
    graph.bound[i, UPPER], graph.bound[i, LOWER] = np.inf, -np.inf
    return i


@njit(cache=True)
def rehash(graph: Graph) -> None:
    """Fill an empty table with the nodes there are."""
    corner, share, table = graph.corner, graph.share, graph.table
    for i in range(graph.counts[NODES]):
        key = 7
        begin = graph.node[i, BEGIN]
        for t in range(begin, begin + graph.node[i, LENGTH]):
            key = (key * 1000003 + int(corner[0, t]) * 8191 + int(share[0, t] * GRID)) & 0x7FFFFFFF
        slot = key & (len(table) - 1)
        while table[slot] != 0:
            slot = (slot + 1) & (len(table) - 1)
        table[slot] = i + 1


@njit(cache=True)
def interpolate(graph: Graph, i: int) -> float:
    """Lower a node's upper bound to what its weights prove now."""
    node, corner, share, value = graph.node, graph.corner, graph.share, graph.value
    begin, best = node[i, BEGIN], -np.inf
    for a in range(value.shape[2]):
        total = 0.0
        for t in range(begin, begin + node[i, WEIGHTS]):
            total += share[1, t] * value[0, corner[1, t], a]
        best = max(best, total)
    graph.counts[OPS] += node[i, WEIGHTS] * value.shape[2]
    graph.bound[i, UPPER] = min(graph.bound[i, UPPER], best)
    return graph.bound[i, UPPER]


@njit(cache=True)
def promote(graph: Graph, moves: Moves, i: int) -> int:
    """Make a node a point, its Q's as the weights have them; the point's index."""
    counts, node, corner, share, value = (
        graph.counts,
        graph.node,
        graph.corner,
        graph.share,
        graph.value,
    )
    p, begin = counts[POINTS], node[i, BEGIN]
    for a in range(value.shape[2]):
        bound = earned = 0.0
        for t in range(begin, begin + node[i, WEIGHTS]):
            bound += share[1, t] * value[0, corner[1, t], a]
        for t in range(begin, begin + node[i, LENGTH]):
            earned += share[0, t] * moves.rewards[a, corner[0, t]]
        value[0, p, a], value[1, p, a] = bound, earned
    graph.point[p, NODE] = i
    graph.point[p, FIRST] = graph.point[p, LAST] = -1
    graph.point[p, LIVE] = 0
    node[i, POINT] = p
    counts[POINTS] += 1
    return p


@njit(cache=True)
def plant(graph: Graph, moves: Moves, values: Floats) -> None:
    """Begin a graph with its corners as nodes and points, values (k, A) being their Q's."""
    for s in range(len(values)):
        begin = graph.counts[ENTRIES]
        graph.corner[0, begin], graph.share[0, begin] = s, 1.0
        i = locate(graph, 1, 0.0)
        p = promote(graph, moves, i)
        graph.value[0, p] = values[s]
        graph.bound[i, UPPER] = values[s].max()


@njit(cache=True)
def expand(graph: Graph, moves: Moves, scratch: Scratch, p: int, tau: float) -> None:
    """Give a point its edges; their nodes are found or added."""
    counts, corner, share, edge = graph.counts, graph.corner, graph.share, graph.edge
    joint, touched = scratch.joint, scratch.touched
    n_actions, k = moves.rewards.shape
    i = graph.point[p, NODE]
    begin, end = graph.node[i, BEGIN], graph.node[i, BEGIN] + graph.node[i, LENGTH]
    graph.point[p, FIRST] = counts[EDGES]
    for a in range(n_actions):
        count = 0
        for t in range(begin, end):
            row, weight = a * k + corner[0, t], share[0, t]
            for m in range(moves.indptr[row], moves.indptr[row + 1]):
                where, mass = moves.observation[m] * k + moves.target[m], weight * moves.chance[m]
                if mass == 0.0:  # it underflowed; counted, a cell would be touched twice
                    continue
                if joint[where] == 0.0:
                    touched[count] = where
                    count += 1
                joint[where] += mass
            counts[OPS] += moves.indptr[row + 1] - moves.indptr[row]
        if count * 8 > len(joint):  # reading them all in order is quicker than sorting
            count = 0
            for where in range(len(joint)):
                if joint[where] != 0.0:
                    touched[count] = where
                    count += 1
        else:
            touched[:count] = np.sort(touched[:count])
        counts[OPS] += count
        t = 0
        while t < count:
            seen, mass, length, tail = touched[t] // k, 0.0, 0, counts[ENTRIES]
            while t < count and touched[t] // k == seen:
                if joint[touched[t]] > 0.0:
                    corner[0, tail + length] = touched[t] % k
                    share[0, tail + length] = joint[touched[t]]
                    mass += joint[touched[t]]
                    joint[touched[t]] = 0.0
                    length += 1
                t += 1
            if length == 0:
                continue
            for u in range(tail, tail + length):
                share[0, u] /= mass
            m = counts[EDGES]
            child = locate(graph, length, tau)
            if graph.bound[child, UPPER] == np.inf:
                interpolate(graph, child)
            edge[m, ACTION], edge[m, OBSERVATION], edge[m, CHILD] = a, seen, child
            graph.chance[m] = mass
            counts[EDGES] += 1
    graph.point[p, LAST] = counts[EDGES]
