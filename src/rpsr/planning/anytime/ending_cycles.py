"""First policies where most policies never end: fixed sequences of actions, repeated.

If a policy may pay indefinitely, no lower bound holds for every policy, and a search needs one
whose cost is finite wherever the start may lead. A sequence of actions that is repeated, whatever
is observed, is a controller with one node per action. Single actions, all actions in turn and
random sequences are tried.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from rpsr.errors import ModelError
from rpsr.io.records import Bools, Floats, Ints
from rpsr.models.operators import Sparse
from rpsr.planning.corners.cheap_bounds import transitions
from rpsr.planning.corners.corner_model import CornerProcess
from rpsr.planning.corners.proven_sums import ENDLESS, proven_sums
from rpsr.planning.end_components import leading_to
from rpsr.planning.limits import Clock
from rpsr.planning.value.value_function import ValueFunction

RANDOM = 4  # random sequences, each twice as long as the one before
KEPT = 3  # sequences
MOST = 200_000  # pairs of a node and a corner


def ending_cycles(process: CornerProcess, clock: Clock) -> ValueFunction:
    """Proven values of repeated sequences of actions that end the task, at the corners, (K, k).

    They hold at corners that can be reached from the start. Every other corner has the least value
    of those, which proves nothing. A `ModelError` if no tried sequence ends the task.
    """
    moves, n_actions, k = transitions(process), len(process.rewards), process.k
    rng = np.random.default_rng(0)
    tries = [np.array([a]) for a in range(n_actions)] + [np.arange(n_actions)]
    tries += [rng.integers(n_actions, size=2 * n_actions * 2**i) for i in range(RANDOM)]
    met = _met(process, moves)
    cycles: list[tuple[float, Ints, Floats]] = []
    for actions in tries:
        if (cycles and clock.over) or len(actions) * k > MOST:
            break
        values = _values(process, moves, actions)
        if (values[:, met] > ENDLESS / 2).all():
            values[:, ~met] = values[:, met].min()
            cycles.append((float((values @ process.start).max()), actions, values))
    if not cycles:
        raise ModelError(
            f"{process.model.name}: this planner cannot prove that the cost is finite: it found no "
            "sequence of actions that, when repeated, ends the task from every reachable state; "
            "plan with reachable (--planner reachable), or give a discount below 1 (--discount), "
            "a number of steps (--within), or a goal whose probability is to be maximised (--goal)"
        )
    cycles.sort(key=lambda cycle: -cycle[0])
    vectors, choices = list[Floats](), list[Ints]()
    for _, actions, values in cycles[:KEPT]:
        first = sum(map(len, vectors))
        following = first + (np.arange(len(actions)) + 1) % len(actions)
        after = np.repeat(following[:, None], process.observations, axis=1)
        vectors.append(values)
        choices.append(np.column_stack([actions, after]))
    return ValueFunction.of(np.vstack(vectors), np.vstack(choices))


def _values(process: CornerProcess, moves: Sparse, actions: Ints) -> Floats:
    """Proven values of a sequence's nodes, (L, k)."""
    k, length = process.k, len(actions)
    parts: list[list[Sparse | None]] = [[None] * length for _ in range(length)]
    for i, a in enumerate(actions.tolist()):
        parts[i][(i + 1) % length] = moves[a * k : (a + 1) * k]
    chain = sp.csr_array(sp.block_array(parts))
    return proven_sums(process, chain, process.rewards[actions].ravel()).reshape(length, k)


def _met(process: CornerProcess, moves: Sparse) -> Bools:
    """The corners that the start may lead to, (k,)."""
    entries = sp.coo_array(moves)
    parts = (entries.data, (entries.col, entries.row % process.k))
    back = sp.csr_array(sp.coo_array(parts, shape=(process.k, process.k)))
    return leading_to(back, process.start > 0)
