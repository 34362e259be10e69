"""The belief graph of an anytime search, as flat arrays for compiled kernels.

A node is a mixture of corners (see `corner_model`), stored sparsely and found by a hash table. The
first k nodes are the corners. Some nodes are *points*: they have an upper bound Q(point, action)
for every action, and the first k points are the corners. Edges lead from a point to its possible
successors: action, observation, node, and probability times discount.

Every node also has a decomposition into points, weights w >= 0 with sum_j w_j x_j = x, initially
its mixture of corners, whose entries are then the weights. A better decomposition (few nodes get
one) has entries of its own. The optimal Q(., a) is convex and homogeneous, hence

    V(x) = max_a Q(x, a) <= max_a sum_j w_j Q(j, a),

for any such weights, which remain valid when the Q's fall.

Beliefs that differ by at most `tau` in the 1-norm are one node. The search adds the cost of this to
its upper bound (lower bounds do not depend on it).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.kernels import njit
from rpsr.planning.corners.moves import Moves

Array = Any  # an array of a narrower type than those in `records`


def _integers(names: str, kind: type = np.int64) -> np.dtype[Any]:
    return np.dtype([(name, kind) for name in names.split()])


# Sizes, operations so far, where a trial or a sweep was paused, the number of the trial, how often
# it stepped back, and the state of the random numbers. reach: how many entries the children of a
# point may add, at most; widest: how many values a vector may have; mixed: the node of the start if
# it lies in no part (see `belief_parts`), else -1. fallen: changes when Q's of corners fall.
COUNTS = _integers(
    "nodes entries edges points pool pooled vectors columns values ops round depth upward cursor "
    "looked walk steps random reach widest mixed fallen"
)
# A node's first entry and number of entries, its point or -1, the first entry of its weights and
# their number, how many of them, the first ones, are of corners, `fallen` when their sums were
# computed, the number of points it was decomposed over, its face as bits, its best vector, the
# number of vectors scanned, the latest trial that came through it.
NODE = _integers("begin length point held weights corners fallen seen sign vector scanned walk")
BOUND = np.dtype([("upper", np.float64), ("lower", np.float64)])
# The node of a point, its first edge and the one after its last, whether policies may reach it.
POINT = _integers("node first last live")
EDGE = _integers("action observation child", np.int32)
SIGN_BITS = 62
GRID = 2.0**20  # beliefs are hashed by their entries in this fixed point


class Graph(NamedTuple):
    """counts: a record; nodes N, entries E, points P, edges M as capacities.

    corner (E,) and share (E,): mixtures of corners, and weights over points.
    node (N,) and bound (N,): records. corner_sum (N, A): the sum of a node's weights of corners
    times their Q's. table: the hash table, node + 1.
    point (P,): records. value (2 or 3, P, A): Q(point, action), the reward and, without a discount,
    the hint.
    edge (M,): records, chance (M,). pool (P,) and gain (P,): the points that decompositions may
    use, and how far each is below the bound that the corners give. chain (P,): the place in the
    pool of the next one in the same part, or -1; ends (n, 2): those of the first and the last one
    of each part, or -1. of (k,): the part of each corner (see `belief_parts`).
    """

    counts: Array
    corner: Array
    share: Floats
    node: Array
    bound: Array
    corner_sum: Floats
    table: Ints
    point: Array
    value: Floats
    edge: Array
    chance: Floats
    pool: Array
    gain: Floats
    chain: Array
    ends: Array
    of: Array


class Knobs(NamedTuple):
    """The parameters of the kernels.

    discount: at least every row's sum. tau: beliefs this close are one node. least: smaller
    improvements of a bound are not made. pivots: of a decomposition. stale: weights are out of date
    when the pool has grown by this factor. selective: whether trials end early at nodes that will
    not change the bounds at the start. root: the node of the start. fallback: the point whose
    children are used for observations that are impossible at the point of a backup. greedy: whether
    a trial goes by the lower bound.

    Without a discount, errors are paid for where they arise: pad is added to every look, and shave
    subtracted from every backup. fading: the factor, per step, by which a trial's interest in the
    gap falls; the discount, if there is one. retreats: how often a trial may step back.
    hinted: whether a trial goes by hints alone, not by upper bounds.
    """

    discount: float
    tau: float
    least: float
    pivots: int
    stale: float
    selective: bool
    root: int
    fallback: int
    pad: float = 0.0
    shave: float = 0.0
    fading: float = 1.0
    retreats: int = 0
    hinted: bool = False
    greedy: bool = False


class Scratch(NamedTuple):
    """joint (O * k,) and row (k,): zeros and -1 between calls; touched (O * k,).

    hint (A, k): without a discount, discounted Q's at the corners, which prefer a reward that comes
    sooner; else (A, 0).
    """

    joint: Floats
    touched: Ints
    row: Ints
    hint: Floats


@njit(cache=True)
def hashed(graph: Graph, begin: int, length: int) -> int:
    """The hash of the mixture whose entries begin at `begin`."""
    key = 7
    for t in range(begin, begin + length):
        corner, share = int(graph.corner[t]), int(graph.share[t] * GRID)
        key = (key * 1000003 + corner * 8191 + share) & 0x7FFFFFFF
    return key


@njit(cache=True)
def locate(graph: Graph, length: int, tau: float) -> int:
    """The node of the entries written at the end; a new one if there is none yet."""
    counts, corner, share, node, table = (
        graph.counts,
        graph.corner,
        graph.share,
        graph.node,
        graph.table,
    )
    begin = counts["entries"]
    sign = 0
    for t in range(begin, begin + length):
        sign |= 1 << (int(corner[t]) % SIGN_BITS)
    slot = hashed(graph, begin, length) & (len(table) - 1)
    while table[slot] != 0:
        other = table[slot] - 1
        if node[other]["length"] == length and node[other]["sign"] == sign:
            shift, first = 0.0, node[other]["begin"]
            for t in range(length):
                if corner[first + t] != corner[begin + t]:
                    shift = np.inf
                    break
                shift += abs(share[first + t] - share[begin + t])
            if shift <= tau:
                return other
        slot = (slot + 1) & (len(table) - 1)
    i = counts["nodes"]
    table[slot] = i + 1
    counts["nodes"] += 1
    counts["entries"] += length
    node[i]["begin"] = node[i]["held"] = begin
    node[i]["length"] = node[i]["weights"] = node[i]["corners"] = length
    node[i]["point"] = node[i]["vector"] = node[i]["fallen"] = -1
    node[i]["seen"] = node[i]["scanned"] = node[i]["walk"] = 0
    node[i]["sign"] = sign
    graph.bound[i]["upper"], graph.bound[i]["lower"] = np.inf, -np.inf
    return i


@njit(cache=True)
def rehash(graph: Graph) -> None:
    """Fill an empty table with all nodes."""
    table = graph.table
    for i in range(graph.counts["nodes"]):
        slot = hashed(graph, graph.node[i]["begin"], graph.node[i]["length"]) & (len(table) - 1)
        while table[slot] != 0:
            slot = (slot + 1) & (len(table) - 1)
        table[slot] = i + 1


@njit(cache=True)
def refresh(graph: Graph, i: int) -> None:
    """Compute a node's sums over corners again, if Q's of corners have fallen since.

    Beliefs have many corners, whose Q's seldom fall.
    """
    counts, node, corner, sums = graph.counts, graph.node, graph.corner, graph.corner_sum
    if node[i]["fallen"] == counts["fallen"]:
        return
    for a in range(sums.shape[1]):
        sums[i, a] = 0.0
    for t in range(node[i]["held"], node[i]["held"] + node[i]["corners"]):
        weight, s = graph.share[t], corner[t]
        for a in range(sums.shape[1]):
            sums[i, a] += weight * graph.value[0, s, a]
    node[i]["fallen"] = counts["fallen"]
    counts["ops"] += node[i]["corners"] * sums.shape[1]


@njit(cache=True)
def interpolate(graph: Graph, i: int) -> float:
    """Lower a node's upper bound to the one given by its weights."""
    node, corner, share, value = graph.node, graph.corner, graph.share, graph.value
    refresh(graph, i)
    begin, end = node[i]["held"] + node[i]["corners"], node[i]["held"] + node[i]["weights"]
    best = -np.inf
    for a in range(value.shape[2]):
        total = graph.corner_sum[i, a]
        for t in range(begin, end):
            total += share[t] * value[0, corner[t], a]
        best = max(best, total)
    graph.counts["ops"] += (1 + end - begin) * value.shape[2]
    graph.bound[i]["upper"] = min(graph.bound[i]["upper"], best)
    return graph.bound[i]["upper"]


@njit(cache=True)
def promote(graph: Graph, moves: Moves, scratch: Scratch, i: int) -> int:
    """Make a node a point, with Q's interpolated by its weights; returns the point's index."""
    counts, node, corner, share, value = (
        graph.counts,
        graph.node,
        graph.corner,
        graph.share,
        graph.value,
    )
    refresh(graph, i)
    p, begin, held = counts["points"], node[i]["begin"], node[i]["held"]
    for a in range(value.shape[2]):
        bound, earned = graph.corner_sum[i, a], 0.0
        for t in range(held + node[i]["corners"], held + node[i]["weights"]):
            bound += share[t] * value[0, corner[t], a]
        for t in range(begin, begin + node[i]["length"]):
            earned += share[t] * moves.rewards[a, corner[t]]
        value[0, p, a], value[1, p, a] = bound, earned
        if scratch.hint.shape[1] > 0:
            value[2, p, a] = 0.0
            for t in range(begin, begin + node[i]["length"]):
                value[2, p, a] += share[t] * scratch.hint[a, corner[t]]
    graph.point[p]["node"] = i
    graph.point[p]["first"] = graph.point[p]["last"] = -1
    graph.point[p]["live"] = 0
    node[i]["point"] = p
    counts["points"] += 1
    return p


@njit(cache=True)
def pool_in(graph: Graph, p: int, place: int, gain: float) -> None:
    """Enter a point into the pool, as the last one of its part."""
    part = graph.of[graph.corner[graph.node[graph.point[p]["node"]]["begin"]]]
    graph.pool[place], graph.gain[place], graph.chain[place] = p, gain, -1
    if graph.ends[part, 0] < 0:
        graph.ends[part, 0] = place
    else:
        graph.chain[graph.ends[part, 1]] = place
    graph.ends[part, 1] = place


@njit(cache=True)
def plant(graph: Graph, moves: Moves, scratch: Scratch, values: Floats) -> None:
    """Begin a graph with its corners as nodes and points; values (k, A): their Q's."""
    one = int(np.int64(1))  # numba would compile the callees again for a literal
    for s in range(len(values)):
        begin = graph.counts["entries"]
        graph.corner[begin], graph.share[begin] = s, 1.0
        i = locate(graph, one, 0.0)
        p = promote(graph, moves, scratch, i)
        graph.value[0, p] = values[s]
        graph.node[i]["fallen"] = -1
        graph.bound[i]["upper"] = values[s].max()


@njit(cache=True)
def expand(graph: Graph, moves: Moves, scratch: Scratch, p: int, tau: float) -> None:
    """Give a point its edges; their nodes are found or added."""
    counts, corner, share, edge = graph.counts, graph.corner, graph.share, graph.edge
    joint, touched = scratch.joint, scratch.touched
    n_actions, k = moves.rewards.shape
    i = graph.point[p]["node"]
    begin, end = graph.node[i]["begin"], graph.node[i]["begin"] + graph.node[i]["length"]
    graph.point[p]["first"] = counts["edges"]
    for a in range(n_actions):
        count = 0
        for t in range(begin, end):
            row, weight = a * k + corner[t], share[t]
            for m in range(moves.indptr[row], moves.indptr[row + 1]):
                where, mass = moves.observation[m] * k + moves.target[m], weight * moves.chance[m]
                if mass == 0.0:  # underflow: the cell must not be touched twice
                    continue
                if joint[where] == 0.0:
                    touched[count] = where
                    count += 1
                joint[where] += mass
            counts["ops"] += moves.indptr[row + 1] - moves.indptr[row]
        if count * 8 > len(joint):  # a scan of all is quicker than sorting
            count = 0
            for where in range(len(joint)):
                if joint[where] != 0.0:
                    touched[count] = where
                    count += 1
        else:
            touched[:count] = np.sort(touched[:count])
        counts["ops"] += count
        t = 0
        while t < count:
            seen, mass, length, tail = touched[t] // k, 0.0, 0, counts["entries"]
            while t < count and touched[t] // k == seen:
                if joint[touched[t]] > 0.0:
                    corner[tail + length] = touched[t] % k
                    share[tail + length] = joint[touched[t]]
                    mass += joint[touched[t]]
                    joint[touched[t]] = 0.0
                    length += 1
                t += 1
            if length == 0:
                continue
            for u in range(tail, tail + length):
                share[u] /= mass
            m = counts["edges"]
            child = locate(graph, length, tau)
            if graph.bound[child]["upper"] == np.inf:
                interpolate(graph, child)
            edge[m]["action"], edge[m]["observation"], edge[m]["child"] = a, seen, child
            graph.chance[m] = mass
            counts["edges"] += 1
    graph.point[p]["last"] = counts["edges"]
