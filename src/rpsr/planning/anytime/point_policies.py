"""Policy iteration on the points of an anytime search.

Every live point has a best action and, for each observation, a best vector in use. This defines a
finite-state controller with one node per vector in use, and sweeps

    v_c(s) <- r(s, a_c) + sum_o sum_s' K[a_c, o](s, s') v_follow(c, o)(s')

from these vectors approximate its value. Value iteration would need about 1 / (1 - discount) sweeps
of backups for the same result. If sweeps end before convergence, a vector may exceed its own
backup. Vectors are then lowered until none does (`shortfalls`), so that every vector is at most the
value of its node. Vectors that are still better at some live point are kept, with their successors
(see `lower_bound`).

Without a discount no such lowering exists: a controller that never ends may be worth less than
vectors that are at most their own backups. Its sweeps then begin with a lower bound on the value of
every policy (see `undiscounted_bounds`), so that each sweep gives a lower bound on the value of the
controller.

Reference: E. A. Hansen, Solving POMDPs by searching in policy space, UAI 1998.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.kernels import njit
from rpsr.planning.anytime.belief_graph import Array, Graph, Knobs
from rpsr.planning.anytime.belief_parts import BEGIN, END
from rpsr.planning.anytime.lower_bound import (
    Vectors,
    allot,
    best_of_part,
    continue_with,
    enter,
    entries_of,
    lower_choice,
    scan,
    value_of,
)
from rpsr.planning.corners.moves import Moves, accumulated

FREELY = -1.0  # instead of an amount to subtract: values may also fall


class Links(NamedTuple):
    """The successors of each of C vectors in use.

    action (C,), -1 without any. first (C,): where each one's values begin. begins (C, O): where
    those of the vector begin that it continues with after each observation.
    """

    action: Ints
    first: Ints
    begins: Ints


@njit(cache=True)
def controller(graph: Graph, vectors: Vectors, knobs: Knobs, follow: Ints) -> None:
    """Fill follow (C, 1 + O): action and successors at the points of each vector; -1 without any.

    After an impossible observation, a vector follows itself.
    """
    point, node = graph.point, graph.node
    follow[:] = -1
    for p in range(graph.counts["points"]):
        if point[p]["live"] == 0:
            continue
        scan(graph, vectors, int(np.int64(point[p]["node"])))
        c = node[point[p]["node"]]["vector"]
        if follow[c, 0] >= 0:
            continue
        follow[c, 1:] = c
        follow[c, 0], _ = lower_choice(graph, vectors, p)
        continue_with(graph, vectors, knobs, p, follow[c])


@njit(cache=True)
def settle(
    moves: Moves,
    vectors: Vectors,
    links: Links,
    values: Floats,
    sweeps: int,
    enough: float,
    shave: float,
) -> int:
    """Sweep values until they change little; the number of sweeps.

    shave: if it is not negative, values may only rise, by a backup less `shave` for rounding. From
    a lower bound on the value of every policy, each sweep then gives a lower bound on the value of
    the controller, with or without a discount.
    """
    parts, change, done = vectors.parts, np.inf, 0
    action, first, begins = links
    indptr, observation, _, chance, rewards = moves
    k, goes, member = rewards.shape[1], parts.goes, parts.member
    while done < sweeps and change > enough:
        change = 0.0
        done += 1
        for c in range(len(first)):
            part = parts.part[vectors.part[vectors.origin[c]]]
            for u in range(part[BEGIN], part[END] if action[c] >= 0 else part[BEGIN]):
                # As `value_of`: for corners with few moves, calls would dominate the time.
                row = action[c] * k + member[u]
                fresh = rewards[action[c], member[u]]
                for m in range(indptr[row], indptr[row + 1]):
                    fresh += chance[m] * values[begins[c, observation[m]] + goes[m]]
                at = first[c] + u - part[BEGIN]
                if shave >= 0.0:
                    fresh = max(values[at], fresh - shave)
                change = max(change, abs(fresh - values[at]))
                values[at] = fresh
    return done


@njit(cache=True)
def excesses(moves: Moves, vectors: Vectors, links: Links, values: Floats) -> Floats:
    """The largest amount by which each vector exceeds its own backup, or 0, (C,)."""
    action, first, begins = links
    parts, over = vectors.parts, np.zeros(len(first))
    for c in range(len(first)):
        part = parts.part[vectors.part[vectors.origin[c]]]
        for u in range(part[BEGIN], part[END] if action[c] >= 0 else part[BEGIN]):
            s = parts.member[u]
            fresh = value_of(moves, parts.goes, action[c], begins[c], values, s)
            over[c] = max(over[c], values[first[c] + u - part[BEGIN]] - fresh)
    return over


@njit(cache=True)
def winners(graph: Graph, vectors: Vectors, values: Floats, first: Ints, least: float) -> Ints:
    """The vectors in use whose new values raise the bound at a live point, (C,) of 0 and 1."""
    count, k = len(first), len(vectors.column)
    across = np.empty((k, count))
    for s in range(k):
        for c in range(count):
            across[s, c] = values[first[c] + s]
    wins, score = np.zeros(count, np.int64), np.empty(count)
    for p in range(graph.counts["points"]):
        if graph.point[p]["live"] == 0:
            continue
        i = int(np.int64(graph.point[p]["node"]))
        if k == 0:
            high, best = best_of_part(graph, vectors, i, values, first, int(np.int64(0)))
            if high > graph.bound[i]["lower"] + least:
                wins[best] = 1
            continue
        score[:] = 0.0
        for t in range(graph.node[i]["begin"], graph.node[i]["begin"] + graph.node[i]["length"]):
            weight, column = graph.share[t], across[graph.corner[t]]
            for c in range(count):
                score[c] += weight * column[c]
        best = score.argmax()
        if score[best] > graph.bound[i]["lower"] + least:
            wins[best] = 1
        graph.counts["ops"] += count * graph.node[i]["length"] // 4
    return wins


@njit(cache=True)
def improve_policy(
    graph: Graph,
    moves: Moves,
    vectors: Vectors,
    knobs: Knobs,
    floor: Floats,
    budget: int,
    enough: float,
) -> None:
    """Add the vectors of the points' policy that win somewhere, and those they continue with.

    There must be room for as many vectors as are in use. Sweeps take about `budget` operations.
    floor (k,): without a discount, a lower bound on every policy's value; else empty.
    """
    counts, parts = graph.counts, vectors.parts
    count = counts["columns"]
    follow: Array = np.empty((count, vectors.choice.shape[1]), np.int32)  # as the choices are
    controller(graph, vectors, knobs, follow)
    first, size, cost = np.empty(count, np.int64), 0, 1
    for c in range(count):
        part = vectors.part[vectors.origin[c]]
        first[c] = size
        size += parts.part[part, END] - parts.part[part, BEGIN]
        if follow[c, 0] >= 0:
            cost += entries_of(moves, parts, part, int(np.int64(follow[c, 0])))
    values = np.empty(size)
    for c in range(count):
        wide = (first[c + 1] if c + 1 < count else size) - first[c]
        values[first[c] : first[c] + wide] = vectors.values[
            vectors.starts[c] : vectors.starts[c] + wide
        ]
    begins = np.zeros((count, follow.shape[1] - 1), np.int64)
    for c in range(count):
        for o in range(begins.shape[1] if follow[c, 0] >= 0 else 0):
            begins[c, o] = first[follow[c, 1 + o]]
    links = Links(follow[:, 0].astype(np.int64), first, begins)
    most = max(budget // cost, 1)
    if len(floor) > 0:
        for c in range(count):
            if follow[c, 0] >= 0:
                values[first[c] : first[c] + len(floor)] = floor  # there is one part
        sweeps = settle(moves, vectors, links, values, most, enough, knobs.shave)
    else:
        sweeps = settle(moves, vectors, links, values, most, enough, FREELY)
        over = excesses(moves, vectors, links, values)
        less = accumulated(over, follow, knobs.discount)
        for c in range(count):
            values[first[c] : first[c + 1] if c + 1 < count else size] -= less[c]
    counts["ops"] += (sweeps + 1) * cost
    wins = winners(graph, vectors, values, first, knobs.least)
    # The family of a winner: its successors, their successors, and so on.
    row, queue, waiting = np.full(count, -1), np.empty(count, np.int64), 0
    for c in range(count):
        if wins[c] == 1:
            row[c] = allot(graph, vectors, vectors.part[vectors.origin[c]])
            queue[waiting] = c
            waiting += 1
    while waiting > 0:
        waiting -= 1
        c = queue[waiting]
        for o in range(1, follow.shape[1]):
            then = follow[c, o]
            if row[then] < 0:
                if follow[then, 0] < 0:
                    row[then] = vectors.origin[then]
                else:
                    row[then] = allot(graph, vectors, vectors.part[vectors.origin[then]])
                    queue[waiting] = then
                    waiting += 1
    for c in range(count):
        if row[c] >= 0 and follow[c, 0] >= 0:
            v, at = row[c], vectors.first[row[c]]
            wide = (first[c + 1] if c + 1 < count else size) - first[c]
            vectors.values[at : at + wide] = values[first[c] : first[c] + wide]
            vectors.choice[v, 0] = follow[c, 0]
            for o in range(1, follow.shape[1]):
                vectors.choice[v, o] = row[follow[c, o]]
            if wins[c] == 1:
                enter(graph, vectors, v)
    scan(graph, vectors, knobs.root)
