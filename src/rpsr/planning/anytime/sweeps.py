"""The compiled kernels of the anytime search that go through all points: sweeps, live points.

As trials do (see `walks`), sweeps count operations, and may stop between two points.
"""

from __future__ import annotations

import numpy as np

from rpsr.io.records import Ints
from rpsr.kernels import njit
from rpsr.planning.anytime.belief_graph import Graph, Knobs, Moves, Scratch, pool_in
from rpsr.planning.anytime.lower_bound import Vectors, backup, scan
from rpsr.planning.anytime.walks import (
    DONE,
    FULL,
    PAUSED,
    gain_of,
    glance,
    has_room,
    look,
    open_point,
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
    """Back up every live point in a given order, except those raised since the sweep began."""
    counts, stop = graph.counts, graph.counts["ops"] + budget
    if counts["cursor"] == 0:
        counts["round"] = counts["columns"]
    while counts["cursor"] < len(order):
        if not has_room(graph, moves, scratch, vectors):
            return FULL
        if counts["ops"] > stop:
            return PAUSED
        p = int(order[counts["cursor"]])
        i = graph.point[p]["node"]
        scan(graph, vectors, i)
        below, above = graph.bound[i]["lower"], graph.bound[i]["upper"]
        if graph.node[i]["vector"] < counts["round"] and above - below > knobs.least:
            backup(graph, moves, vectors, p, knobs)
        counts["cursor"] += 1
        counts["ops"] += 1
    counts["cursor"] = 0
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
    """Lower the Q's of every point, the last one first; then renew the pool of points."""
    counts, stop, k = graph.counts, graph.counts["ops"] + budget, moves.rewards.shape[1]
    if counts["looked"] == 0:
        counts["looked"] = counts["points"]
    while counts["looked"] > 0:
        if not has_room(graph, moves, scratch, vectors):
            return FULL
        if counts["ops"] > stop:
            return PAUSED
        p = counts["looked"] - 1
        if p < k and not fresh and len(graph.ends) > 1:  # corners hardly fall, and may be many
            counts["looked"] = 0
            break
        if graph.point[p]["first"] < 0:
            open_point(graph, moves, scratch, graph.point[p]["node"], knobs)
        if fresh:
            look(graph, scratch, p, knobs)
        else:
            glance(graph, p, knobs)
        counts["looked"] -= 1
    counts["pool"] = 0
    graph.ends[:] = -1
    for p in range(k, counts["points"]):
        if graph.point[p]["first"] >= 0:
            gain = gain_of(graph, p)
            if gain > knobs.least:
                pool_in(graph, p, counts["pool"], gain)
                counts["pool"] += 1
    return DONE


@njit(cache=True)
def mark_live(graph: Graph, root: int) -> None:
    """Mark the points reachable by actions not yet proven worse than another."""
    point, edge, stack = graph.point, graph.edge, np.empty(graph.counts["points"], np.int64)
    for p in range(graph.counts["points"]):
        point[p]["live"] = 0
    stack[0], size = graph.node[root]["point"], 1
    point[stack[0]]["live"] = 1
    while size > 0:
        size -= 1
        p = stack[size]
        below = graph.bound[point[p]["node"]]["lower"]
        for m in range(point[p]["first"], point[p]["last"]):
            q = graph.node[edge[m]["child"]]["point"]
            if q < 0 or point[q]["live"] == 1 or point[q]["first"] < 0:
                continue
            if graph.value[0, p, edge[m]["action"]] >= below:
                point[q]["live"] = 1
                stack[size] = q
                size += 1
