"""Maximal end components of a finite decision problem: where a policy can stay indefinitely.

An end component is a set of states with actions that do not leave it and connect all of it: a
policy may stay inside with probability one. Every policy that stays in no end component leaves
every set of states in the end, so that without end components all sums of rewards converge. The
decomposition repeats two steps until nothing changes: find strongly connected components, and drop
actions that may leave their component.

Reference: L. de Alfaro, Formal verification of probabilistic systems, PhD thesis, Stanford, 1997.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, connected_components

from rpsr.io.records import Bools, Ints
from rpsr.models.operators import Sparse


def end_components(
    moves: Sparse, n_actions: int, allowed: Bools | None = None
) -> tuple[Ints, Bools]:
    """The component of each state, and the actions that stay inside one.

    moves: sparse (A * k, k), row a * k + s. allowed (A, k): the actions to consider, by default
    all. Returns component (k,), equal for states of one maximal
    end component and otherwise all different, and inside (A, k): whether an action stays in the
    end component of its state; False in states outside all of them.
    """
    k = moves.shape[1]
    entries = sp.coo_array(moves)
    row, target = entries.row[entries.data > 0], entries.col[entries.data > 0]
    state = row % k
    kept = np.ones(n_actions * k, dtype=np.bool_) if allowed is None else allowed.ravel().copy()
    while True:
        alive = kept[row]
        graph = sp.coo_array((np.ones(alive.sum()), (state[alive], target[alive])), shape=(k, k))
        _, component = connected_components(graph, directed=True, connection="strong")
        leaving = np.zeros(n_actions * k, dtype=np.bool_)
        leaving[row[component[state] != component[target]]] = True
        if not (leaving & kept).any():
            break
        kept &= ~leaving
    # A state without an action left is in no end component.
    inside = kept.reshape(n_actions, k)
    return component.astype(np.int64), inside & inside.any(axis=0)


def surely_reaching(moves: Sparse, n_actions: int, target: Bools) -> Bools:
    """The states from which some policy reaches a set (k,) with probability one, (k,).

    The states that can reach it while every outcome stays among them, until that changes nothing.
    """
    k = moves.shape[1]
    # A copy: scipy may sum duplicates in place, and the arrays are those of the process.
    possible = sp.csr_array(moves, copy=True)
    sure = np.ones(k, dtype=np.bool_)
    while True:
        safe = (possible @ (~sure).astype(float)).reshape(n_actions, k) == 0
        reached = leading_to(moves, target, safe)
        if np.array_equal(reached, sure):
            return sure
        sure = reached


def leading_to(moves: Sparse, target: Bools, allowed: Bools | None = None) -> Bools:
    """Which states can reach the target set (k,) with positive probability under some policy, (k,).

    moves: sparse (A * k, k), row a * k + s, or the moves (k, k) of a chain. allowed (A, k): the
    actions to consider, by default all. The set itself is included.
    """
    if not target.any():
        return target
    k, ends = moves.shape[1], np.flatnonzero(target)
    entries = sp.coo_array(moves)
    used = entries.data > 0
    if allowed is not None:
        used &= allowed.ravel()[entries.row]
    # Breadth-first search in reverse; one more state leads into the set.
    begin = np.concatenate([entries.col[used], np.full(len(ends), k)])
    end = np.concatenate([entries.row[used] % k, ends])
    parts = (np.ones(len(begin)), (begin, end))
    back = sp.csr_array(sp.coo_array(parts, shape=(k + 1, k + 1)))
    leads = np.zeros(k + 1, dtype=np.bool_)
    leads[breadth_first_order(back, k, return_predecessors=False)] = True
    return leads[:k]
