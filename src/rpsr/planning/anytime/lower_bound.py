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
from rpsr.planning.anytime.belief_parts import BEGIN, CENTRE, END, NEWEST, Parts
from rpsr.planning.corners.moves import Moves
from rpsr.scalar_products import dot

SCATTERED = 8  # operations: how much longer one takes in vectors of many parts


class Vectors(NamedTuple):
    """V vectors, of which C are in use.

    values: the vectors, each at the corners of its part (see `belief_parts`). first (V,), part
    (V,): where the values of each begin, and its part. choice (V, 1 + O): the action and the rows
    to continue with. origin (C,): the rows of those in use; starts (C,): where their values begin;
    before (C,): the one before in the same part, or -1. column (k, C): the values of those in use,
    if there is one part; else (0, C).
    """

    values: Floats
    first: Array
    part: Array
    choice: Array
    origin: Array
    starts: Array
    before: Array
    column: Floats
    parts: Parts


@njit(cache=True)
def part_of(graph: Graph, vectors: Vectors, i: int) -> int:
    """The part that a node lies in."""
    if i == graph.counts["mixed"]:
        return len(vectors.parts.part) - 1
    return int(np.int64(vectors.parts.of[graph.corner[graph.node[i]["begin"]]]))


@njit(cache=True)
def places(graph: Graph, vectors: Vectors, i: int) -> Ints:
    """Where the corners of a node are in the vectors of its part, (its number of entries,)."""
    begin, length = graph.node[i]["begin"], graph.node[i]["length"]
    place = np.arange(length)
    if i != graph.counts["mixed"]:
        for t in range(length):
            place[t] = vectors.parts.slot[graph.corner[begin + t]]
    return place


@njit(cache=True)
def best_of_part(
    graph: Graph,
    vectors: Vectors,
    i: int,
    values: Floats,
    first: Ints,
    since: int,
) -> tuple[float, int]:
    """The best vector in use for a node, of those from `since` on: its value and column, or -1.

    values, first (C,): the values of those in use, and where each one's begin.
    """
    best, chosen, looked = -np.inf, -1, 0
    begin, length, part = (
        graph.node[i]["begin"],
        graph.node[i]["length"],
        part_of(graph, vectors, i),
    )
    weights: Array = graph.share
    before = vectors.before
    everywhere = length == vectors.parts.part[part, END] - vectors.parts.part[part, BEGIN]
    place = places(graph, vectors, i) if not everywhere else np.empty(0, np.int64)
    c = vectors.parts.part[part, NEWEST]
    while c >= since:
        at = int(np.int64(first[c]))
        if everywhere:
            total = dot(weights, begin, values, at, length)
        else:
            total = 0.0
            for t in range(length):
                total += weights[begin + t] * values[at + place[t]]
        if total >= best or chosen < 0:  # the oldest of equal ones
            best, chosen = total, c
        looked += 1
        c = before[c]
    graph.counts["ops"] += looked * length * (1 if everywhere else SCATTERED) // 4 + 4
    return best, chosen


@njit(cache=True)
def scan(graph: Graph, vectors: Vectors, i: int) -> float:
    """A node's lower bound, after a scan of the vectors that are new to it."""
    counts, node = graph.counts, graph.node
    first, last = node[i]["scanned"], counts["columns"]
    if first < last and len(vectors.column) == 0:
        score, chosen = best_of_part(
            graph, vectors, i, vectors.values, vectors.starts, int(np.int64(first))
        )
        if chosen >= 0 and (score > graph.bound[i]["lower"] or node[i]["vector"] < 0):
            graph.bound[i]["lower"], node[i]["vector"] = score, chosen
        node[i]["scanned"] = last
    elif first < last:
        scores = np.zeros(last - first)
        for t in range(node[i]["begin"], node[i]["begin"] + node[i]["length"]):
            weight, values = graph.share[t], vectors.column[graph.corner[t], first:last]
            for c in range(last - first):
                scores[c] += weight * values[c]
        for c in range(last - first):
            # A node always has a vector, even if scores are NaN.
            if scores[c] > graph.bound[i]["lower"] or node[i]["vector"] < 0:
                graph.bound[i]["lower"], node[i]["vector"] = scores[c], first + c
        node[i]["scanned"] = last
        counts["ops"] += (last - first) * node[i]["length"] // 4 + 4
    return graph.bound[i]["lower"]


@njit(cache=True)
def value_of(moves: Moves, goes: Ints, action: int, begins: Ints, values: Floats, s: int) -> float:
    """The value of an action at a corner, continuing with values that begin at `begins` (O,)."""
    row = action * moves.rewards.shape[1] + s
    total = moves.rewards[action, s]
    for m in range(moves.indptr[row], moves.indptr[row + 1]):
        total += moves.chance[m] * values[begins[moves.observation[m]] + goes[m]]
    return total


@njit(cache=True)
def entries_of(moves: Moves, parts: Parts, part: int, action: int) -> int:
    """The work of a backup: the moves from the corners of a part by an action, and the corners."""
    k, begin, end = moves.rewards.shape[1], parts.part[part, BEGIN], parts.part[part, END]
    if end - begin == k:
        return moves.indptr[action * k + k] - moves.indptr[action * k] + k
    count = end - begin
    for u in range(begin, end):
        row = action * k + parts.member[u]
        count += moves.indptr[row + 1] - moves.indptr[row]
    return SCATTERED * count


@njit(cache=True)
def enter(graph: Graph, vectors: Vectors, v: int) -> None:
    """Put a vector to use, as the newest of its part."""
    counts, parts, part = graph.counts, vectors.parts, vectors.part[v]
    c = counts["columns"]
    vectors.origin[c], vectors.starts[c] = v, vectors.first[v]
    vectors.before[c], parts.part[part, NEWEST] = parts.part[part, NEWEST], c
    for s in range(len(vectors.column)):
        vectors.column[s, c] = vectors.values[vectors.first[v] + s]
    counts["columns"] += 1


@njit(cache=True)
def enter_first(graph: Graph, vectors: Vectors, count: int) -> None:
    """Put the first vectors to use, in their order."""
    for v in range(count):
        enter(graph, vectors, v)


@njit(cache=True)
def allot(graph: Graph, vectors: Vectors, part: int) -> int:
    """The row of a new vector of a part, with room for its values."""
    counts, v = graph.counts, graph.counts["vectors"]
    vectors.first[v], vectors.part[v] = counts["values"], part
    counts["vectors"] += 1
    counts["values"] += vectors.parts.part[part, END] - vectors.parts.part[part, BEGIN]
    return v


@njit(cache=True)
def continue_with(graph: Graph, vectors: Vectors, knobs: Knobs, p: int, choice: Array) -> None:
    """Enter the columns of vectors that continue a point's action after each observation.

    Observations impossible at the point, but not in its part, continue as from the mixture of all
    corners, if there is one part, else with what is best for the uniform belief of the part that
    follows.
    """
    node, edge, point, parts = graph.node, graph.edge, graph.point, vectors.parts
    if len(parts.part) > 1:
        part = part_of(graph, vectors, int(np.int64(point[p]["node"])))
        for o in range(parts.after.shape[2]):
            then = parts.after[part, choice[0], o]
            if then >= 0:
                middle = int(np.int64(parts.part[then, CENTRE]))
                scan(graph, vectors, middle)
                choice[1 + o] = node[middle]["vector"]
    for q in (knobs.fallback, p):
        if q < 0:
            continue
        for m in range(point[q]["first"], point[q]["last"]):
            if edge[m]["action"] == choice[0]:
                child = int(np.int64(edge[m]["child"]))
                scan(graph, vectors, child)
                choice[1 + edge[m]["observation"]] = node[child]["vector"]


@njit(cache=True)
def lower_choice(graph: Graph, vectors: Vectors, p: int) -> tuple[int, float]:
    """The action with the best lower bound at a point, and the bound; hopeless ones are skipped."""
    value, edge, node, bound = graph.value, graph.edge, graph.node, graph.bound
    best, choice, columns = -np.inf, 0, graph.counts["columns"]
    m, last = graph.point[p]["first"], graph.point[p]["last"]
    for a in range(value.shape[2]):
        hopeless = value[0, p, a] <= best
        total = value[1, p, a]
        while m < last and edge[m]["action"] == a:
            if not hopeless:
                child = int(np.int64(edge[m]["child"]))
                if node[child]["scanned"] < columns:
                    scan(graph, vectors, child)
                total += graph.chance[m] * bound[child]["lower"]
            m += 1
        if not hopeless and total > best:
            best, choice = total, a
    return choice, best


@njit(cache=True)
def backup(graph: Graph, moves: Moves, vectors: Vectors, p: int, knobs: Knobs) -> bool:
    """Add the vector of a point's best action, if it raises the lower bound there."""
    counts, parts = graph.counts, vectors.parts
    i = int(np.int64(graph.point[p]["node"]))
    scan(graph, vectors, i)
    action, promised = lower_choice(graph, vectors, p)
    if promised <= graph.bound[i]["lower"] + knobs.least:
        return False
    part = part_of(graph, vectors, i)
    v = allot(graph, vectors, part)
    choice = vectors.choice[v]
    choice[:] = -1
    choice[0] = action
    continue_with(graph, vectors, knobs, p, choice)
    for o in range(1, len(choice)):  # itself, where an observation is impossible
        choice[o] = vectors.origin[choice[o]] if choice[o] >= 0 else v
    begin, begins = parts.part[part, BEGIN], np.empty(len(choice) - 1, np.int64)
    for o in range(len(begins)):
        begins[o] = vectors.first[choice[1 + o]]
    for u in range(begin, parts.part[part, END]):
        value = value_of(moves, parts.goes, action, begins, vectors.values, parts.member[u])
        vectors.values[vectors.first[v] + u - begin] = value - knobs.shave
    counts["ops"] += entries_of(moves, parts, part, action)
    enter(graph, vectors, v)
    scan(graph, vectors, i)
    return True


@njit(cache=True)
def prune(graph: Graph, vectors: Vectors) -> None:
    """Keep the vectors that are best at a live point; nodes that lost theirs scan again.

    Where there are several parts, each keeps the best one for its uniform belief.
    """
    counts, node, parts = graph.counts, graph.node, vectors.parts
    before, kept = counts["columns"], 0
    place = np.full(before, -1)
    for p in range(counts["points"]):
        if graph.point[p]["live"] == 1:
            scan(graph, vectors, int(np.int64(graph.point[p]["node"])))
            place[node[graph.point[p]["node"]]["vector"]] = 0
    for part in range(len(parts.part)):
        if len(parts.part) > 1:
            scan(graph, vectors, int(np.int64(parts.part[part, CENTRE])))
            place[node[parts.part[part, CENTRE]]["vector"]] = 0
        parts.part[part, NEWEST] = -1
    earlier = np.empty(before + 1, np.int64)  # the number of kept columns among the first c
    for c in range(before):
        earlier[c] = kept
        if place[c] == 0:
            place[c] = kept
            part = vectors.part[vectors.origin[c]]
            vectors.origin[kept], vectors.starts[kept] = vectors.origin[c], vectors.starts[c]
            vectors.before[kept], parts.part[part, NEWEST] = parts.part[part, NEWEST], kept
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
def stand_in(vectors: Vectors, j: int) -> int:
    """The newest vector in use that is nowhere below vector j, or j itself."""
    values, part = vectors.values, vectors.parts.part[vectors.part[j]]
    size, mine, c = part[END] - part[BEGIN], vectors.first[j], part[NEWEST]
    while c >= 0:
        other, s = vectors.starts[c], 0
        while s < size and values[other + s] >= values[mine + s]:
            s += 1
        if s == size:
            return vectors.origin[c]
        c = vectors.before[c]
    return j


@njit(cache=True)
def collect(graph: Graph, vectors: Vectors, substitute: bool) -> None:
    """Drop vectors that are neither in use nor needed by one in use.

    substitute: whether stand-ins are allowed. A stand-in may continue with the vector that it is
    continued from; with a discount the values of such a cycle are at least its vectors, without one
    it might never end.
    """
    values, choice, origin, counts = vectors.values, vectors.choice, vectors.origin, graph.counts
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
                stands[j] = stand_in(vectors, j) if substitute else j
                if stands[j] == j:
                    queue[waiting] = j
                    waiting += 1
    place, kept = np.full(size, -1), 0
    for i in range(size):
        if stands[i] == i:
            place[i] = kept
            kept += 1
    counts["values"] = 0
    for i in range(size):
        if place[i] >= 0:
            part, at, to = vectors.part[i], vectors.first[i], counts["values"]
            wide = vectors.parts.part[part, END] - vectors.parts.part[part, BEGIN]
            for s in range(wide):
                values[to + s] = values[at + s]
            vectors.first[place[i]], vectors.part[place[i]] = to, part
            counts["values"] += wide
            choice[place[i], 0] = choice[i, 0]
            for o in range(1, choice.shape[1]):
                choice[place[i], o] = place[stands[choice[i, o]]]
    for c in range(columns):
        origin[c] = place[origin[c]]
        vectors.starts[c] = vectors.first[origin[c]]
    counts["vectors"] = kept
    counts["ops"] += size


@njit(cache=True)
def family_of(vectors: Vectors, size: int, row: int) -> Ints:
    """Which vectors a vector continues with, sooner or later, itself included: (size,), 1 or 0."""
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
