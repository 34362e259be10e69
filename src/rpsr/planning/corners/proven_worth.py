"""Proven values of plans, independent of how they were computed.

Lemma. Let vectors u_i at the corners, each with an action a_i and, for every observation, a vector
to continue with, exceed their own backups by at most delta at every corner:

    u_i(s) <= r(s, a_i) + sum_o sum_s' K[a_i, o](s, s') u_succ(i, o)(s') + delta.

Then u_i is at most the value of the controller's node i plus delta / (1 - discount), at every
corner, hence at every state of the domain. (Let w be the node's value. Then u - w <= delta +
K (u - w), and K's rows sum to at most the discount.) For a finite horizon the deltas of the steps
add up, each discounted by the steps before it.

So vectors need not be trusted: they are evaluated at the corners and backed up there once, which
gives delta, plus `CornerProcess.rounding` for rounding and for the errors of the model. Vectors
that are below their backups by that much already, as those of `blind_values`, lose nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.planning.corners.corner_model import CornerProcess
from rpsr.planning.corners.moves import backups

ROWS = 256  # vectors backed up at a time


def owed(process: CornerProcess, choices: Ints, values: Floats, after: Floats) -> float:
    """delta: the largest excess of values (M, k) over the backups of choices (M, 1 + O), or 0.

    after (K, k): the values that choices continue with.
    """
    scale = float(max(np.abs(values).max(), np.abs(after).max()))
    worst = -np.inf
    for first in range(0, len(choices), ROWS):
        some = slice(first, first + ROWS)
        fresh = backups(process.moves, choices[some], after)
        worst = max(worst, float((values[some] - fresh).max()))
    # A backup above the scale proves the claim anyway; one below it is so by `worst` at most.
    return max(worst + process.rounding(scale + max(worst, 0.0)), 0.0)


def worth_at_start(process: CornerProcess, vectors: Floats, choices: Ints, first: int) -> float:
    """The proven value at the start of the controller of choices (K, 1 + O), from a node.

    vectors (K, n): the claimed values of its nodes.
    """
    values = process.at_corners(vectors)
    delta = owed(process, choices, values, values)
    value, off = process.vectors_at_start(vectors[[first]], values[[first]])
    return value - off - delta * process.ahead


def tree_at_start(
    process: CornerProcess, stages: Sequence[Floats], choices: Sequence[Ints]
) -> float:
    """The proven value at the start of the first tree of the last layer.

    stages[j] (K_j, n): the claimed values of trees of j + 1 steps; choices[j] (K_j, 1 + O): their
    actions and successors.
    """
    discount, delta = process.discount, 0.0
    after = np.zeros((1, process.k))
    for vectors, chosen in zip(stages, choices, strict=True):
        values = process.at_corners(vectors)
        delta = owed(process, chosen, values, after) + discount * delta
        after = values
    value, off = process.vectors_at_start(stages[-1][:1], after[:1])
    return value - off - delta
