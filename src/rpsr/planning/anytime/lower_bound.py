"""The lower bound of an anytime search: vectors of values at the corners, each a policy's value.

A vector has an action and, for every observation, an older vector to continue with. Those *in use*
are stored column by column for scanning and row by row for backups; pruning keeps the ones that are
best at a live point. Their ancestors, the vectors that they continue with, are stored row by row: a
set that contains all its successors is a controller, whose values are at least its vectors, and
V <= HV. An ancestor that is below a vector in use is replaced by it as a stand-in. This can only
raise values, and it keeps the set small.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.kernels import njit
from rpsr.planning.anytime.belief_graph import Array, Graph, Knobs
from rpsr.planning.corners.moves import Moves, backup_at


class Vectors(NamedTuple):
    """V vectors, of which C are in use: table (V, k), column (k, C), origin (C,): their rows.

    choice (V, 1 + O): the action and the rows to continue with.
    """

    table: Floats
    column: Floats
    origin: Ints
    choice: Array


@njit(cache=True)
def scan(graph: Graph, vectors: Vectors, i: int) -> float:
    """A node's lower bound, after a scan of the vectors that are new to it."""
    counts, node = graph.counts, graph.node
    first, last = node[i]["scanned"], counts["columns"]
    if first < last:
        score = np.zeros(last - first)
        for t in range(node[i]["begin"], node[i]["begin"] + node[i]["length"]):
            weight, values = graph.share[0, t], vectors.column[graph.corner[0, t], first:last]
            for c in range(last - first):
                score[c] += weight * values[c]
        for c in range(last - first):
            # A node always has a vector, even if scores are NaN.
            if score[c] > graph.bound[i]["lower"] or node[i]["vector"] < 0:
                graph.bound[i]["lower"], node[i]["vector"] = score[c], first + c
        node[i]["scanned"] = last
        counts["ops"] += (last - first) * node[i]["length"] // 4 + 4
    return graph.bound[i]["lower"]


@njit(cache=True)
def lower_choice(graph: Graph, vectors: Vectors, p: int) -> tuple[int, float]:
    """The action with the best lower bound at a point, and the bound; hopeless ones are skipped."""
    value, edge = graph.value, graph.edge
    best, choice = -np.inf, 0
    m, last = graph.point[p]["first"], graph.point[p]["last"]
    for a in range(value.shape[2]):
        hopeless = value[0, p, a] <= best
        total = value[1, p, a]
        while m < last and edge[m]["action"] == a:
            if not hopeless:
                total += graph.chance[m] * scan(graph, vectors, int(np.int64(edge[m]["child"])))
            m += 1
        if not hopeless and total > best:
            best, choice = total, a
    return choice, best


@njit(cache=True)
def backup(graph: Graph, moves: Moves, vectors: Vectors, p: int, knobs: Knobs) -> bool:
    """Add the vector of a point's best action, if it raises the lower bound there."""
    counts, point, edge, k = graph.counts, graph.point, graph.edge, moves.rewards.shape[1]
    i = point[p]["node"]
    scan(graph, vectors, i)
    action, promised = lower_choice(graph, vectors, p)
    if promised <= graph.bound[i]["lower"] + knobs.least:
        return False
    v, c = counts["vectors"], counts["columns"]
    choice = vectors.choice[v]
    choice[:] = v  # itself, where an observation is impossible
    choice[0] = action
    # Observations impossible here continue as from the mixture of all corners.
    for q in (knobs.fallback, p):
        for m in range(point[q]["first"], point[q]["last"]):
            if edge[m]["action"] == action:
                child = int(np.int64(edge[m]["child"]))
                scan(graph, vectors, child)
                choice[1 + edge[m]["observation"]] = vectors.origin[graph.node[child]["vector"]]
    for s in range(k):
        value = backup_at(moves, choice, vectors.table, s) - knobs.shave
        vectors.table[v, s] = vectors.column[s, c] = value
    counts["ops"] += moves.indptr[action * k + k] - moves.indptr[action * k] + k
    vectors.origin[c] = v
    counts["vectors"] += 1
    counts["columns"] += 1
    scan(graph, vectors, i)
    return True


@njit(cache=True)
def prune(graph: Graph, vectors: Vectors) -> None:
    """Keep the vectors that are best at a live point; nodes that lost theirs scan again."""
    counts, node = graph.counts, graph.node
    before, kept = counts["columns"], 0
    place = np.full(before, -1)
    for p in range(counts["points"]):
        if graph.point[p]["live"] == 1:
            scan(graph, vectors, graph.point[p]["node"])
            place[node[graph.point[p]["node"]]["vector"]] = 0
    earlier = np.empty(before + 1, np.int64)  # the number of kept columns among the first c
    for c in range(before):
        earlier[c] = kept
        if place[c] == 0:
            place[c] = kept
            vectors.origin[kept] = vectors.origin[c]
            kept += 1
    earlier[before] = kept
    for s in range(len(vectors.column)):
        for c in range(before):
            if place[c] >= 0:
                vectors.column[s, place[c]] = vectors.column[s, c]
    counts["columns"] = kept
    for i in range(counts["nodes"]):
        if node[i]["vector"] >= 0:
            node[i]["vector"] = place[node[i]["vector"]]
        if node[i]["vector"] < 0:
            node[i]["scanned"] = 0
            graph.bound[i]["lower"] = -np.inf
        else:
            node[i]["scanned"] = earlier[node[i]["scanned"]]


@njit(cache=True)
def stand_in(vectors: Vectors, columns: int, j: int) -> int:
    """The newest vector in use that is nowhere below vector j, or j itself."""
    table, k = vectors.table, vectors.table.shape[1]
    for c in range(columns - 1, -1, -1):
        row, s = vectors.origin[c], 0
        while s < k and table[row, s] >= table[j, s]:
            s += 1
        if s == k:
            return row
    return j


@njit(cache=True)
def collect(graph: Graph, vectors: Vectors, substitute: bool) -> None:
    """Drop vectors that are neither in use nor needed by one in use.

    substitute: whether stand-ins are allowed. A stand-in may continue with the vector that it is
    continued from; with a discount the values of such a cycle are at least its vectors, without one
    it might never end.
    """
    table, choice, origin, counts = vectors.table, vectors.choice, vectors.origin, graph.counts
    size, columns = counts["vectors"], counts["columns"]
    stands, queue = np.full(size, -1), np.empty(size, np.int64)  # the stand-in of each vector
    for c in range(columns):
        stands[origin[c]] = queue[c] = origin[c]
    waiting = columns
    while waiting > 0:
        waiting -= 1
        i = queue[waiting]
        for o in range(1, choice.shape[1]):
            j = choice[i, o]
            if stands[j] < 0:
                stands[j] = stand_in(vectors, columns, j) if substitute else j
                if stands[j] == j:
                    queue[waiting] = j
                    waiting += 1
    place, kept = np.full(size, -1), 0
    for i in range(size):
        if stands[i] == i:
            place[i] = kept
            kept += 1
    for i in range(size):
        if place[i] >= 0:
            table[place[i]] = table[i]
            choice[place[i], 0] = choice[i, 0]
            for o in range(1, choice.shape[1]):
                choice[place[i], o] = place[stands[choice[i, o]]]
    for c in range(columns):
        origin[c] = place[origin[c]]
    counts["vectors"] = kept
    counts["ops"] += size


@njit(cache=True)
def family_of(vectors: Vectors, size: int, row: int) -> Ints:
    """The vectors that a vector needs, including itself, (size,) of 0 and 1."""
    needed, queue, waiting = np.zeros(size, np.int64), np.empty(size, np.int64), 1
    needed[row], queue[0] = 1, row
    while waiting > 0:
        waiting -= 1
        i = queue[waiting]
        for o in range(1, vectors.choice.shape[1]):
            j = vectors.choice[i, o]
            if needed[j] == 0:
                needed[j] = 1
                queue[waiting] = j
                waiting += 1
    return needed
