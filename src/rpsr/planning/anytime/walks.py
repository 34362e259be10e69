"""The anytime search, compiled: trials from the start, sweeps over all points, what is still alive.

Lower bounds are vectors (see `lower_bound`), upper bounds are Q's at points (see `belief_graph`).
A *backup* of a point adds the vector of its best action; a *look* lowers its Q's.

Children are looked at when it matters: a decomposition is computed anew only for children of the
action that looks best, and vectors only for actions that may still be the best one; each child
remembers its best vector and how many it has seen, so that only new ones are scanned.

Every kernel counts operations, and may stop between two points and be called again: how much work
is done does not depend on a clock.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.kernels import njit
from rpsr.planning.anytime.belief_graph import (
    ACTION,
    BEGIN,
    CHILD,
    COLUMNS,
    CURSOR,
    DEPTH,
    EDGES,
    ENTRIES,
    FIRST,
    LAST,
    LENGTH,
    LIVE,
    LOOKED,
    LOWER,
    NODE,
    NODES,
    OPS,
    POINT,
    POINTS,
    POOL,
    POOLED,
    ROUND,
    SEEN,
    UPPER,
    UPWARD,
    VECTOR,
    VECTORS,
    Graph,
    Knobs,
    Moves,
    Scratch,
    expand,
    interpolate,
    promote,
)
from rpsr.planning.anytime.lower_bound import Vectors, backup, lower_choice, scan
from rpsr.planning.anytime.upper_bound import decompose, worth

DONE, PAUSED, FULL = range(3)  # why a kernel returned


class Trail(NamedTuple):
    """A trial under way, as deep as it may go: path (T,) of nodes, aim (T, 2) of targets."""

    path: Ints
    aim: Floats


@njit(cache=True)
def has_room(graph: Graph, moves: Moves, scratch: Scratch, vectors: Vectors) -> bool:
    """Whether one more point and its children, and one more vector, fit into the arrays."""
    counts, n_actions = graph.counts, moves.rewards.shape[0]
    children = n_actions * (len(scratch.joint) // len(scratch.row))
    return (
        counts[NODES] + children < len(graph.node)
        and 2 * (counts[NODES] + children) < len(graph.table)
        and counts[ENTRIES] + n_actions * len(scratch.joint) < graph.share.shape[1]
        and counts[EDGES] + children < len(graph.edge)
        and counts[POINTS] + 1 < len(graph.point)
        and counts[VECTORS] + 1 < len(vectors.table)
        and counts[COLUMNS] + 1 < vectors.column.shape[1]
    )


@njit(cache=True)
def look(graph: Graph, scratch: Scratch, p: int, knobs: Knobs, fresh: bool) -> int:
    """Lower a point's Q's by its children's bounds; the action whose Q is highest.

    fresh: whether to decompose children of that action again whose weights are out of date.
    """
    counts, value, edge = graph.counts, graph.value, graph.edge
    n_actions = value.shape[2]
    m, last = graph.point[p, FIRST], graph.point[p, LAST]
    begins = np.full(n_actions + 1, last)
    for a in range(n_actions):
        begins[a] = m
        total = value[1, p, a]
        while m < last and edge[m, ACTION] == a:
            child = edge[m, CHILD]
            if graph.node[child, POINT] < 0:
                interpolate(graph, child)
            total += graph.chance[m] * graph.bound[child, UPPER]
            m += 1
        value[0, p, a] = min(value[0, p, a], total)
    counts[OPS] += last - begins[0]
    best = value[0, p].argmax()
    while fresh:
        stale, total = False, value[1, p, best]
        for m in range(begins[best], begins[best + 1]):
            child = edge[m, CHILD]
            if (
                graph.node[child, POINT] < 0
                and counts[POOLED] > knobs.stale * graph.node[child, SEEN]
            ):
                stale = True
                decompose(graph, scratch, child, knobs.pivots, knobs.least)
            total += graph.chance[m] * graph.bound[child, UPPER]
        value[0, p, best] = min(value[0, p, best], total)
        fresh = stale
        best = value[0, p].argmax()
    i = graph.point[p, NODE]
    graph.bound[i, UPPER] = min(graph.bound[i, UPPER], value[0, p, best])
    return best


@njit(cache=True)
def gain_of(graph: Graph, p: int) -> float:
    """How far a point lies below what the corners say of it."""
    i = graph.point[p, NODE]
    total = -worth(graph, p)
    for t in range(graph.node[i, BEGIN], graph.node[i, BEGIN] + graph.node[i, LENGTH]):
        total += graph.share[0, t] * worth(graph, graph.corner[0, t])
    return total


@njit(cache=True)
def open_point(graph: Graph, moves: Moves, scratch: Scratch, i: int, knobs: Knobs) -> int:
    """The point of a node, made and expanded where that has not happened yet."""
    p = graph.node[i, POINT]
    if p < 0:
        if graph.counts[POOLED] > graph.node[i, SEEN]:
            decompose(graph, scratch, i, knobs.pivots, knobs.least)
        p = promote(graph, moves, i)
    if graph.point[p, FIRST] < 0:
        expand(graph, moves, scratch, p, knobs.tau)
        look(graph, scratch, p, knobs, True)
        if p >= moves.rewards.shape[1]:
            graph.pool[graph.counts[POOL]] = p
            graph.gain[graph.counts[POOL]] = gain_of(graph, p)
            graph.counts[POOL] += 1
            graph.counts[POOLED] += 1
    return p


@njit(cache=True)
def trial(
    graph: Graph,
    moves: Moves,
    scratch: Scratch,
    vectors: Vectors,
    knobs: Knobs,
    trail: Trail,
    target: float,
    budget: int,
) -> int:
    """Walk down from the start where the gap is wider than wanted; back up on the way back.

    The wanted gap at depth t is target / discount^t. Actions are chosen by their upper bound and
    observations by what their gap exceeds the wanted one by, times their chance.
    """
    counts, path, aim, edge = graph.counts, trail.path, trail.aim, graph.edge
    stop = counts[OPS] + budget
    if counts[UPWARD] == 0 and counts[DEPTH] == 0:
        path[0] = knobs.root
        aim[0, 0] = scan(graph, vectors, knobs.root)
        aim[0, 1] = aim[0, 0] + target
        counts[DEPTH] = 1
    while counts[UPWARD] == 0:
        if not has_room(graph, moves, scratch, vectors):
            return FULL
        if counts[OPS] > stop:
            return PAUSED
        depth = counts[DEPTH] - 1
        i = int(path[depth])
        wanted = target / knobs.discount ** float(depth) if knobs.discount > 0 else np.inf
        if depth > 0 and (
            depth + 1 >= len(path) or finished(graph, vectors, i, knobs, wanted, aim[depth])
        ):
            counts[UPWARD] = 1
            counts[DEPTH] -= 1
            break
        p = open_point(graph, moves, scratch, i, knobs)
        graph.point[p, LIVE] = 1
        action = look(graph, scratch, p, knobs, True)
        child, chosen, largest = -1, -1, 0.0
        further = wanted / knobs.discount if knobs.discount > 0 else np.inf
        lower, upper = graph.value[1, p, action], graph.value[1, p, action]
        for m in range(graph.point[p, FIRST], graph.point[p, LAST]):
            if edge[m, ACTION] != action:
                continue
            j = edge[m, CHILD]
            below, above = scan(graph, vectors, j), graph.bound[j, UPPER]
            lower += graph.chance[m] * below
            upper += graph.chance[m] * above
            if graph.chance[m] * (above - below - further) > largest:
                child, chosen = j, m
                largest = graph.chance[m] * (above - below - further)
        if child < 0:
            counts[UPWARD] = 1
            break
        if knobs.selective:
            _, best = lower_choice(graph, vectors, p)
            low, high = max(aim[depth, 0], best), max(aim[depth, 1], best + wanted)
            chance = graph.chance[chosen]
            rest_low = lower - chance * graph.bound[child, LOWER]
            rest_high = upper - chance * graph.bound[child, UPPER]
            aim[depth + 1, 0] = (low - rest_low) / chance
            aim[depth + 1, 1] = (high - rest_high) / chance
        path[depth + 1] = child
        counts[DEPTH] += 1
    while counts[DEPTH] > 0:
        if not has_room(graph, moves, scratch, vectors):
            return FULL
        if counts[OPS] > stop:
            return PAUSED
        p = graph.node[path[counts[DEPTH] - 1], POINT]
        look(graph, scratch, p, knobs, False)
        backup(graph, moves, vectors, p, knobs)
        counts[DEPTH] -= 1
    counts[UPWARD] = 0
    return DONE


@njit(cache=True)
def finished(
    graph: Graph, vectors: Vectors, i: int, knobs: Knobs, wanted: float, aim: Floats
) -> bool:
    """Whether a trial need not go on from a node.

    A selective trial ends as well where the node, going by the middle of its bounds, will not raise
    the lower bound at the start, and its upper bound is low enough not to matter there.
    """
    below, above = scan(graph, vectors, i), graph.bound[i, UPPER]
    if above - below <= wanted:
        return True
    return (
        knobs.selective and 0.5 * (below + above) <= aim[0] and above <= max(aim[1], below + wanted)
    )


@njit(cache=True)
def lower_sweep(
    graph: Graph,
    moves: Moves,
    scratch: Scratch,
    vectors: Vectors,
    knobs: Knobs,
    order: Ints,
    budget: int,
) -> int:
    """Back up every live point in an order, but for those raised since the sweep began."""
    counts, stop = graph.counts, graph.counts[OPS] + budget
    if counts[CURSOR] == 0:
        counts[ROUND] = counts[COLUMNS]
    while counts[CURSOR] < len(order):
        if not has_room(graph, moves, scratch, vectors):
            return FULL
        if counts[OPS] > stop:
            return PAUSED
        p = int(order[counts[CURSOR]])
        i = graph.point[p, NODE]
        scan(graph, vectors, i)
        below, above = graph.bound[i, LOWER], graph.bound[i, UPPER]
        if graph.node[i, VECTOR] < counts[ROUND] and above - below > knobs.least:
            backup(graph, moves, vectors, p, knobs)
        counts[CURSOR] += 1
        counts[OPS] += 1
    counts[CURSOR] = 0
    return DONE


@njit(cache=True)
def upper_sweep(
    graph: Graph,
    moves: Moves,
    scratch: Scratch,
    vectors: Vectors,
    knobs: Knobs,
    fresh: bool,
    budget: int,
) -> int:
    """Look at every point, the last one first; then say anew which points are worth pooling."""
    counts, stop, k = graph.counts, graph.counts[OPS] + budget, moves.rewards.shape[1]
    if counts[LOOKED] == 0:
        counts[LOOKED] = counts[POINTS]
    while counts[LOOKED] > 0:
        if not has_room(graph, moves, scratch, vectors):
            return FULL
        if counts[OPS] > stop:
            return PAUSED
        p = counts[LOOKED] - 1
        if graph.point[p, FIRST] < 0:
            open_point(graph, moves, scratch, graph.point[p, NODE], knobs)
        look(graph, scratch, p, knobs, fresh)
        counts[LOOKED] -= 1
    kept = 0
    for p in range(k, counts[POINTS]):
        if graph.point[p, FIRST] >= 0:
            gain = gain_of(graph, p)
            if gain > knobs.least:
                graph.pool[kept], graph.gain[kept] = p, gain
                kept += 1
    counts[POOL] = kept
    return DONE


@njit(cache=True)
def mark_live(graph: Graph, root: int) -> None:
    """Mark the points that can be reached by actions not yet proven worse than another."""
    point, edge, stack = graph.point, graph.edge, np.empty(graph.counts[POINTS], np.int64)
    for p in range(graph.counts[POINTS]):
        point[p, LIVE] = 0
    stack[0], size = graph.node[root, POINT], 1
    point[stack[0], LIVE] = 1
    while size > 0:
        size -= 1
        p = stack[size]
        below = graph.bound[point[p, NODE], LOWER]
        for m in range(point[p, FIRST], point[p, LAST]):
            q = graph.node[edge[m, CHILD], POINT]
            if q < 0 or point[q, LIVE] == 1 or point[q, FIRST] < 0:
                continue
            if graph.value[0, p, edge[m, ACTION]] >= below:
                point[q, LIVE] = 1
                stack[size] = q
                size += 1
