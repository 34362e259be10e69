"""The spectral estimate: from a matrix of intents by histories to the operators of a linear model.

With P the matrix E[X phi], P_ao the same one step later, and D_I, D_H positive scales of rows and
columns, the singular vectors of D_I P D_H give C = U_n^T D_I and K = D_H (C P D_H)^+, and

    B_ao = C P_ao K      e = mean phi K      eta_a = (row of intent a) K      x0 = C E[X | start]

are, up to a change of basis, the operators (transposed), normaliser, rewards and start of the true
model, if P is exact and reaches its rank. Without scales ('plain') the rows with the largest
numbers decide which directions are kept; 'scaled' divides each row and column by its typical error.

Histories, and so the states C P, are those before the end of a task. For observations at ends only
the probability is estimated, (row of the test a o) K; `learned_model` adds a state for the end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rpsr.io.records import Floats
from rpsr.learning.moments.hankel import Hankel


@dataclass(frozen=True, eq=False)
class Parameters:
    """Parameters of a linear model, states as row vectors: operators (A, O, n, n), start (n,),
    normalizer (n,), rewards (n, A).
    """

    operators: Floats
    start: Floats
    normalizer: Floats
    rewards: Floats


@dataclass(frozen=True, eq=False)
class Scales:
    """Scales of rows, (I,), 0 for rows that are left out, and of columns, (H,)."""

    rows: Floats
    columns: Floats


def scales(data: Hankel, weighting: str, rewards: bool = True) -> Scales:
    """The scales of 'plain' or 'scaled' estimates; without rewards, of tests only."""
    n_intents, n_features = data.values.shape[1:]
    part = np.ones(n_intents)
    if not rewards:
        part[data.n_tests :] = 0.0
    if weighting == "plain":
        return Scales(part, np.ones(n_features))
    # The scales that make the mean variance of every row and column 1, if the variance is about a
    # product of the two.
    variances = data.variances[0][part > 0]
    rows, columns = np.ones(len(variances)), np.ones(n_features)
    for _ in range(5):
        rows = 1 / (variances @ columns / n_features)
        columns = 1 / (rows @ variances / len(rows))
    part[part > 0] = np.sqrt(rows)
    return Scales(part, np.sqrt(columns))


def singular_values(data: Hankel, scale: Scales) -> Floats:
    """The singular values of the scaled matrix, largest first."""
    rows = scale.rows > 0
    return np.asarray(np.linalg.svd(_scaled(data.values[0], scale)[rows], compute_uv=False), float)


def _scaled(matrix: Floats, scale: Scales) -> Floats:
    return scale.rows[:, None] * matrix * scale.columns


def spectral_parameters(
    data: Hankel, rank: int, scale: Scales, stationary: bool = False
) -> Parameters:
    """The spectral estimate of a rank, the matrix's rank at most."""
    u, s, v = np.linalg.svd(_scaled(data.values[0], scale), full_matrices=False)
    rank = max(1, min(rank, int((s > s[0] * 1e-12).sum())))
    # States in which the kept directions weigh the same: x = s^-1/2 U^T D_I P.
    root = np.sqrt(s[:rank])
    c = (u[:, :rank] / root).T * scale.rows
    k = (v[:rank].T / root) * scale.columns[:, None]
    return assemble(data, c, k, stationary)


def spectral_basis(data: Hankel, rank: int, scale: Scales) -> Floats:
    """The left singular vectors of the scaled matrix, (I, n)."""
    u, s, _ = np.linalg.svd(_scaled(data.values[0], scale), full_matrices=False)
    return u[:, : max(1, min(rank, int((s > s[0] * 1e-12).sum())))]


def assemble(data: Hankel, c: Floats, k: Floats, stationary: bool) -> Parameters:
    """Operators from a left inverse C (n, I) of the kept subspace and right factors K (H, n)."""
    n_actions = len(data.plan.action_names)
    n = len(c)
    blocks = np.matmul(np.matmul(c, data.values[1:]), k)  # B_ao, (A * O, n, n)
    operators = blocks.transpose(0, 2, 1).reshape(n_actions, -1, n, n)
    column = data.values[0, :, start_feature(data, stationary)]
    start = c @ column / column[0]
    normalizer = data.features @ k
    for code in data.plan.final_interactions:  # the next state is not used: any state will do
        ends = data.values[1 + code, 0] @ k
        operators[divmod(code, operators.shape[1])] = np.outer(ends, start / (start @ normalizer))
    rewards = (data.values[0, data.immediate] @ k).T * data.plan.scale
    return Parameters(
        operators=operators,
        start=start,
        normalizer=normalizer,
        rewards=rewards + normalizer[:, None] * data.centres,
    )


def start_feature(data: Hankel, stationary: bool) -> int:
    """The history feature whose mean future is that of the start state."""
    return 0 if stationary or data.starts == 0 else 1
