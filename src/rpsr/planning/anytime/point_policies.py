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

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.kernels import njit
from rpsr.planning.anytime.belief_graph import Array, Graph, Knobs
from rpsr.planning.anytime.lower_bound import Vectors, lower_choice, scan
from rpsr.planning.corners.moves import Moves, settle, settle_from_below, shortfalls


@njit(cache=True)
def controller(graph: Graph, vectors: Vectors, knobs: Knobs, follow: Ints) -> None:
    """Fill follow (C, 1 + O): action and successors at the points of each vector; -1 without any.

    After an impossible observation, a vector follows itself.
    """
    point, edge, node = graph.point, graph.edge, graph.node
    follow[:] = -1
    for p in range(graph.counts["points"]):
        if point[p]["live"] == 0:
            continue
        scan(graph, vectors, point[p]["node"])
        c = node[point[p]["node"]]["vector"]
        if follow[c, 0] >= 0:
            continue
        follow[c, 1:] = c
        follow[c, 0], _ = lower_choice(graph, vectors, p)
        for q in (knobs.fallback, p):
            for m in range(point[q]["first"], point[q]["last"]):
                if edge[m]["action"] == follow[c, 0]:
                    child = int(np.int64(edge[m]["child"]))
                    scan(graph, vectors, child)
                    follow[c, 1 + edge[m]["observation"]] = node[child]["vector"]


@njit(cache=True)
def winners(graph: Graph, values: Floats, least: float) -> Ints:
    """The rows of values (C, k) that raise the lower bound at a live point, (C,) of 0 and 1."""
    across, count = np.ascontiguousarray(values.T), len(values)
    wins, score = np.zeros(count, np.int64), np.empty(count)
    for p in range(graph.counts["points"]):
        if graph.point[p]["live"] == 0:
            continue
        i = graph.point[p]["node"]
        score[:] = 0.0
        for t in range(graph.node[i]["begin"], graph.node[i]["begin"] + graph.node[i]["length"]):
            weight, column = graph.share[0, t], across[graph.corner[0, t]]
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
    counts, k = graph.counts, moves.rewards.shape[1]
    count = counts["columns"]
    follow: Array = np.empty((count, vectors.choice.shape[1]), np.int32)  # as the choices are
    controller(graph, vectors, knobs, follow)
    values, cost = np.empty((count, k)), 1
    for c in range(count):
        values[c] = vectors.table[vectors.origin[c]]
        if follow[c, 0] >= 0:
            cost += moves.indptr[(follow[c, 0] + 1) * k] - moves.indptr[follow[c, 0] * k] + k
    most = max(budget // cost, 1)
    if len(floor) > 0:
        for c in range(count):
            if follow[c, 0] >= 0:
                values[c] = floor
        sweeps = settle_from_below(moves, follow, values, most, enough, knobs.shave)
    else:
        sweeps = settle(moves, follow, values, most, enough)
        less = shortfalls(moves, follow, values, knobs.discount)
        for c in range(count):
            values[c] -= less[c]
    counts["ops"] += (sweeps + 1) * cost
    wins = winners(graph, values, knobs.least)
    # The family of a winner: its successors, their successors, and so on.
    row, queue, waiting = np.full(count, -1), np.empty(count, np.int64), 0
    for c in range(count):
        if wins[c] == 1:
            row[c] = counts["vectors"]
            counts["vectors"] += 1
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
                    row[then] = counts["vectors"]
                    counts["vectors"] += 1
                    queue[waiting] = then
                    waiting += 1
    for c in range(count):
        if row[c] >= 0 and follow[c, 0] >= 0:
            vectors.table[row[c]] = values[c]
            vectors.choice[row[c], 0] = follow[c, 0]
            for o in range(1, follow.shape[1]):
                vectors.choice[row[c], o] = row[follow[c, o]]
            if wins[c] == 1:
                new = counts["columns"]
                vectors.origin[new] = row[c]
                vectors.column[:, new] = values[c]
                counts["columns"] += 1
    scan(graph, vectors, knobs.root)
