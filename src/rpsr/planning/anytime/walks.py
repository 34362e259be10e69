"""The compiled kernels of the anytime search: looks at points, and trials.

Lower bounds are vectors (see `lower_bound`), upper bounds are Q's at points (see `belief_graph`).
A *backup* of a point adds the vector of its best action; a *look* lowers its Q's.

Children are updated only when needed: a new decomposition is computed only for children of the
action with the highest bound, and vectors only for actions that may still be the best. Each child
stores its best vector and the number of vectors scanned, so that only new ones are scanned.

Indices are converted to 64 bits, even if they are stored in fewer: numba would compile a kernel,
and all its callees, again for each type of an argument.

Most trials go by the upper bound, along the actions that may still be the best. While that bound
is loose, as it stays where horizons are long, they meet few beliefs of good policies. So a share of
the trials is *greedy*: they follow the policy that the vectors have so far, and draw observations.

Every kernel counts operations, and may stop between two points and be called again. So the amount
of work does not depend on a clock.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.kernels import njit
from rpsr.planning.anytime.belief_graph import (
    Array,
    Graph,
    Knobs,
    Moves,
    Scratch,
    expand,
    interpolate,
    pool_in,
    promote,
)
from rpsr.planning.anytime.decomposition import decompose, worth
from rpsr.planning.anytime.lower_bound import Vectors, backup, lower_choice, scan

DONE, PAUSED, FULL = range(3)  # why a kernel returned
NONE, VISITED = -1, -2  # in place of an edge: no gap is wide enough, or only those of visited nodes


class Trail(NamedTuple):
    """An unfinished trial of depth at most T: path (T,) of nodes, aim (T, 2) of targets."""

    path: Ints
    aim: Floats


@njit(cache=True)
def has_room(graph: Graph, moves: Moves, scratch: Scratch, vectors: Vectors) -> bool:
    """Whether one more point and its children, and one more vector, fit into the arrays.

    Its children may get weights of their own as well, and so may the point's node.
    """
    counts, n_actions = graph.counts, moves.rewards.shape[0]
    children = n_actions * (len(scratch.joint) // len(scratch.row))
    return (
        counts["nodes"] + children < len(graph.node)
        and 2 * (counts["nodes"] + children) < len(graph.table)
        and counts["entries"] + 2 * counts["reach"] + counts["widest"] < len(graph.share)
        and counts["edges"] + children < len(graph.edge)
        and counts["points"] + 1 < len(graph.point)
        and counts["vectors"] + 1 < len(vectors.choice)
        and counts["columns"] + 1 < len(vectors.origin)
        and counts["values"] + counts["widest"] < len(vectors.values)
    )


@njit(cache=True)
def fall(graph: Graph, p: int, action: int, bound: float, knobs: Knobs) -> None:
    """Lower a Q to an upper bound; sums over corners are out of date if a corner's Q falls.

    With a discount, a fall of less than `least` does not count there: sweeps contract, so later
    falls are smaller still, and all together change little. Without a discount, every fall counts.
    """
    little = knobs.least if knobs.pad == 0.0 else 0.0
    if p < len(graph.of) and graph.value[0, p, action] - bound > little:
        graph.counts["fallen"] += 1
    graph.value[0, p, action] = min(graph.value[0, p, action], bound)


@njit(cache=True)
def lowered(graph: Graph, p: int, knobs: Knobs) -> tuple[int, Ints]:
    """Lower a point's Q's by its children's bounds; the best action, and where each one's edges
    begin, (A + 1,).
    """
    value, action, child_of = graph.value, graph.edge["action"], graph.edge["child"]
    point, upper = graph.node["point"], graph.bound["upper"]
    n_actions = value.shape[2]
    m, last = graph.point[p]["first"], graph.point[p]["last"]
    begins = np.full(n_actions + 1, last)
    for a in range(n_actions):
        begins[a] = m
        total = value[1, p, a]
        while m < last and action[m] == a:
            child = int(np.int64(child_of[m]))
            if point[child] < 0:
                interpolate(graph, child)
            total += graph.chance[m] * upper[child]
            m += 1
        fall(graph, p, a, total + knobs.pad, knobs)
    graph.counts["ops"] += last - begins[0]
    return value[0, p].argmax(), begins


@njit(cache=True)
def glance(graph: Graph, p: int, knobs: Knobs) -> int:
    """Lower a point's Q's by its children's current bounds; the action of the highest Q."""
    best, _ = lowered(graph, p, knobs)
    i = graph.point[p]["node"]
    graph.bound[i]["upper"] = min(graph.bound[i]["upper"], graph.value[0, p, best])
    return best


@njit(cache=True)
def look(graph: Graph, scratch: Scratch, p: int, knobs: Knobs) -> int:
    """The same, after new decompositions of that action's out-of-date children."""
    value, edge = graph.value, graph.edge
    best, begins = lowered(graph, p, knobs)
    stale = True
    while stale:
        stale, total = False, value[1, p, best]
        for m in range(begins[best], begins[best + 1]):
            child = int(np.int64(edge[m]["child"]))
            if (
                graph.node[child]["point"] < 0
                and graph.counts["pooled"] > knobs.stale * graph.node[child]["seen"]
            ):
                stale = True
                decompose(graph, scratch, child, knobs.pivots, knobs.least)
            total += graph.chance[m] * graph.bound[child]["upper"]
        fall(graph, p, int(np.int64(best)), total + knobs.pad, knobs)
        best = value[0, p].argmax()
    i = graph.point[p]["node"]
    graph.bound[i]["upper"] = min(graph.bound[i]["upper"], value[0, p, best])
    return best


@njit(cache=True)
def gain_of(graph: Graph, p: int) -> float:
    """How far a point is below the bound that the corners give."""
    i = graph.point[p]["node"]
    total = -worth(graph, p)
    for t in range(graph.node[i]["begin"], graph.node[i]["begin"] + graph.node[i]["length"]):
        total += graph.share[t] * worth(graph, int(np.int64(graph.corner[t])))
    return total


@njit(cache=True)
def open_point(graph: Graph, moves: Moves, scratch: Scratch, i: int, knobs: Knobs) -> int:
    """The point of a node, created and expanded if necessary."""
    p = graph.node[i]["point"]
    if p < 0:
        if graph.counts["pooled"] > graph.node[i]["seen"]:
            decompose(graph, scratch, i, knobs.pivots, knobs.least)
        p = promote(graph, moves, scratch, i)
    if graph.point[p]["first"] < 0:
        expand(graph, moves, scratch, p, knobs.tau)
        look(graph, scratch, p, knobs)
        if p >= moves.rewards.shape[1]:
            pool_in(graph, p, graph.counts["pool"], gain_of(graph, p))
            graph.counts["pool"] += 1
            graph.counts["pooled"] += 1
    return p


@njit(cache=True)
def soonest(graph: Graph, p: int, best: int, least: float) -> int:
    """Of the actions whose Q's equal the best, the one with the highest hint."""
    value, chosen = graph.value, best
    for a in range(value.shape[2]):
        if value[0, p, a] >= value[0, p, best] - least and value[2, p, a] > value[2, p, chosen]:
            chosen = a
    return chosen


@njit(cache=True)
def drawn(counts: Array) -> float:
    """A pseudo-random number in [0, 1), the next of a linear congruential generator."""
    counts["random"] = (1103515245 * counts["random"] + 12345) & 0x7FFFFFFF
    return counts["random"] / 2147483648.0


@njit(cache=True)
def widest(
    graph: Graph,
    vectors: Vectors,
    p: int,
    action: int,
    further: float,
    draws: bool,
    endless: bool,
) -> tuple[int, float, float]:
    """The edge of an action with the largest (gap - wanted gap) times probability, or `NONE`.

    Also the bounds on the action's value. draws: draw one in proportion to these numbers instead.
    endless: only from nodes that the walk has not visited; `VISITED` if there are only others.
    """
    chosen, largest, total = NONE, 0.0, 0.0
    lower, upper = graph.value[1, p, action], graph.value[1, p, action]
    for m in range(graph.point[p]["first"], graph.point[p]["last"]):
        if graph.edge[m]["action"] != action:
            continue
        j = int(np.int64(graph.edge[m]["child"]))
        below, above = scan(graph, vectors, j), graph.bound[j]["upper"]
        lower += graph.chance[m] * below
        upper += graph.chance[m] * above
        weight = graph.chance[m] * (above - below - further)
        if weight <= 0.0:
            continue
        if endless and graph.node[j]["walk"] == graph.counts["walk"]:
            chosen = VISITED if chosen < 0 else chosen
        elif draws:
            total += weight
            if drawn(graph.counts) * total < weight:
                chosen = m
        elif weight > largest:
            chosen, largest = m, weight
    return chosen, lower, upper


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
    """Walk from the start while the gap is wider than wanted; back up in reverse order.

    The wanted gap at depth t is target / fading^t. Actions are chosen by their upper bound and
    observations by (gap - wanted gap) times probability; or, if knobs.greedy, by the lower bound
    and drawn. Without a discount a walk might never end: observations are drawn, no node is
    visited twice, and where the walk is stuck, it steps back.
    """
    counts, path, aim, edge = graph.counts, trail.path, trail.aim, graph.edge
    stop = counts["ops"] + budget
    if counts["upward"] == 0 and counts["depth"] == 0:
        path[0] = knobs.root
        aim[0, 0] = scan(graph, vectors, knobs.root)
        aim[0, 1] = aim[0, 0] + target
        counts["depth"] = 1
        counts["walk"] += 1
        counts["steps"] = 0
    endless = knobs.pad > 0.0
    while counts["upward"] == 0:
        if not has_room(graph, moves, scratch, vectors):
            return FULL
        if counts["ops"] > stop:
            return PAUSED
        depth = counts["depth"] - 1
        i = int(path[depth])
        wanted = target / knobs.fading ** float(depth) if knobs.fading > 0 else np.inf
        if depth > 0 and (
            depth + 1 >= len(path) or finished(graph, vectors, i, knobs, wanted, aim[depth])
        ):
            counts["upward"] = 1
            counts["depth"] -= 1
            break
        p = open_point(graph, moves, scratch, i, knobs)
        graph.point[p]["live"] = 1
        action = look(graph, scratch, p, knobs)
        if endless:
            action = soonest(graph, p, action, np.inf if knobs.hinted else knobs.least)
        elif knobs.greedy:
            action, _ = lower_choice(graph, vectors, p)
        draws = endless or knobs.greedy
        further = wanted / knobs.fading if knobs.fading > 0 else np.inf
        chosen, lower, upper = widest(graph, vectors, p, action, further, draws, endless)
        if endless:
            # In a loop of beliefs many Q's are equal: the other best actions come next.
            graph.node[i]["walk"] = counts["walk"]
            high = graph.value[0, p].max() - knobs.least
            for a in range(graph.value.shape[2]):
                if chosen == VISITED and a != action and graph.value[0, p, a] >= high:
                    chosen, lower, upper = widest(graph, vectors, p, a, further, draws, endless)
        if chosen < 0:
            if endless and depth > 0 and counts["steps"] < knobs.retreats:
                counts["steps"] += 1
                glance(graph, p, knobs)
                backup(graph, moves, vectors, p, knobs)
                counts["depth"] -= 1
                continue
            counts["upward"] = 1
            break
        child = int(np.int64(edge[chosen]["child"]))
        if knobs.selective and not knobs.greedy:
            _, best = lower_choice(graph, vectors, p)
            low, high = max(aim[depth, 0], best), max(aim[depth, 1], best + wanted)
            chance = graph.chance[chosen]
            rest_low = lower - chance * graph.bound[child]["lower"]
            rest_high = upper - chance * graph.bound[child]["upper"]
            aim[depth + 1, 0] = (low - rest_low) / chance
            aim[depth + 1, 1] = (high - rest_high) / chance
        path[depth + 1] = child
        counts["depth"] += 1
    while counts["depth"] > 0:
        if not has_room(graph, moves, scratch, vectors):
            return FULL
        if counts["ops"] > stop:
            return PAUSED
        p = graph.node[path[counts["depth"] - 1]]["point"]
        glance(graph, p, knobs)
        backup(graph, moves, vectors, p, knobs)
        counts["depth"] -= 1
    counts["upward"] = 0
    return DONE


@njit(cache=True)
def finished(
    graph: Graph, vectors: Vectors, i: int, knobs: Knobs, wanted: float, aim: Floats
) -> bool:
    """Whether a trial can end at a node.

    A selective trial also ends if the node, judged by the middle of its bounds, will not raise the
    lower bound at the start, and its upper bound is too low to matter there.
    """
    below, above = scan(graph, vectors, i), graph.bound[i]["upper"]
    if above - below <= wanted:
        return True
    if not knobs.selective or knobs.greedy:
        return False
    return 0.5 * (below + above) <= aim[0] and above <= max(aim[1], below + wanted)
