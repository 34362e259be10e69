"""The spectral estimate with a weight for every cell: the inverse of its variance V.

The low-rank factors minimise sum (P - B A)^2 / V by alternating least squares, from the scaled
singular vectors. Then, for each interaction, the columns of P_ao are written in the basis B by
weighted least squares, Z_ao, which comes with the precision of each column, and the operator is the
generalised least-squares solution of Z_ao = B_ao A.

This is done twice. First V comes from counts (Neyman's chi-square), where cells that are small by
chance weigh too much; then from the probabilities of the first model (Pearson's chi-square).
Finally the coordinates of states are changed so that histories spread equally in all directions,
because `learned_model` makes the smallest change to the parameters in these coordinates.

Reference: M. Thon, H. Jaeger. Links between multiplicity automata, observable operator models and
predictive state representations. JMLR 2015.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rpsr.io.records import Bools, Floats
from rpsr.learning.moments.hankel import Hankel, reweighted
from rpsr.learning.spectral.fit import Parameters, Scales, spectral_basis, start_feature

SWEEPS = 100
TOLERANCE = 1e-6  # relative fall of the weighted error in a sweep at which to stop
RIDGE = 1e-13  # relative to each diagonal entry, so that no system is without a solution


def weighted_columns(basis: Floats, matrix: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """For each column m with weights w, the x that minimises sum w (m - B x)^2, and its precision.

    basis (I, n), matrix and weights (I, H); returns (n, H) and B^T diag(w) B, (H, n, n).
    """
    n = basis.shape[1]
    products = (basis[:, :, None] * basis[:, None, :]).reshape(len(basis), n * n)
    precision = (weights.T @ products).reshape(-1, n, n)
    right = (weights * matrix).T @ basis  # (H, n)
    return _solve(precision, right).T, precision


def _solve(systems: Floats, right: Floats) -> Floats:
    """Solutions of symmetric systems, (..., n, n) and (..., n), each brought to a unit diagonal."""
    n = right.shape[-1]
    size = np.sqrt(np.diagonal(systems, axis1=-2, axis2=-1))
    size = np.where(size > 0, size, 1.0)
    even = systems / (size[..., :, None] * size[..., None, :]) + RIDGE * np.eye(n)
    target = right / size
    solved = np.linalg.solve(even, target[..., None])[..., 0]
    rest = target - ((even - RIDGE * np.eye(n)) @ solved[..., None])[..., 0]
    solved = solved + np.linalg.solve(even, rest[..., None])[..., 0]
    return solved / size


def low_rank(matrix: Floats, weights: Floats, basis: Floats) -> tuple[Floats, Floats]:
    """B (I, n) and A (n, H) that minimise sum weights (matrix - B A)^2, from a first B."""
    factor, _ = weighted_columns(basis, matrix, weights)
    before = np.inf
    for _ in range(SWEEPS):
        basis = weighted_columns(factor.T, matrix.T, weights.T)[0].T
        basis, _ = np.linalg.qr(basis)
        factor, _ = weighted_columns(basis, matrix, weights)
        error = float((weights * (matrix - basis @ factor) ** 2).sum())
        if error > before * (1 - TOLERANCE):
            break
        before = error
    return basis, factor


@dataclass(frozen=True, eq=False)
class _Factors:
    """B (I, n), A (n, H) and operators (A * O, n, n), in scaled coordinates."""

    basis: Floats
    factor: Floats
    blocks: Floats

    def balanced(self) -> _Factors:
        """The same factors, in coordinates in which B and A weigh all directions equally."""
        u, s, v = np.linalg.svd(self.factor, full_matrices=False)
        root = np.sqrt(s)
        into, back = (u / root).T, u * root
        return _Factors(self.basis @ back, root[:, None] * v, into @ self.blocks @ back)

    def slices(self) -> Iterator[Floats]:
        """The fitted slices of the expectations, (I, H) each."""
        yield self.basis @ self.factor
        for block in self.blocks:
            yield self.basis @ (block @ self.factor)


def weighted_parameters(
    data: Hankel, rank: int, scale: Scales, stationary: bool = False
) -> Parameters:
    """The variance-weighted estimate of a rank, starting from the scaled one."""
    rows = scale.rows > 0
    grid = scale.rows[rows, None] * scale.columns  # scaled coordinates are better conditioned
    first = _factors(data, rows, grid, spectral_basis(data, rank, scale)[rows])
    data = reweighted(data, (part / grid for part in first.slices()), rows)
    factors = _factors(data, rows, grid, first.basis).balanced()
    factor, columns = factors.factor, scale.columns
    feature = data.features
    known = 1 / data.variances[0, 0]
    normalizer = _row(factor, feature * columns, known / columns**2)
    rewards = [
        _row(
            factor,
            data.values[0, intent] * columns,
            1 / (data.variances[0, intent] * columns**2),
        )
        for intent in data.immediate
    ]
    first = start_feature(data, stationary)
    start = factor[:, first] / columns[first] / feature[first]
    n_actions, n = len(data.plan.action_names), len(factor)
    blocks = factors.blocks.copy().transpose(0, 2, 1)
    for code in data.plan.final_interactions:  # see `fit`
        ends = data.values[1 + code, 0] * columns, data.variances[1 + code, 0] * columns**2
        blocks[code] = np.outer(_row(factor, ends[0], 1 / ends[1]), start / (start @ normalizer))
    return Parameters(
        operators=blocks.reshape(n_actions, -1, n, n),
        start=start,
        normalizer=normalizer,
        rewards=np.array(rewards).T * data.plan.scale + normalizer[:, None] * data.centres,
    )


def _factors(data: Hankel, rows: Bools, grid: Floats, basis: Floats) -> _Factors:
    """Both steps of the fit, for the intents of some rows, from a first basis."""
    matrix = data.values[0][rows] * grid
    weights = 1 / (data.variances[0][rows] * grid**2)
    basis, factor = low_rank(matrix, weights, basis)
    n = basis.shape[1]
    gram = (factor.T[:, :, None] * factor.T[:, None, :]).reshape(-1, n * n)  # (H, n * n)
    blocks = np.empty((data.plan.n_interactions, n, n))
    for code in range(data.plan.n_interactions):
        seen = data.values[1 + code][rows] * grid
        trust = 1 / (data.variances[1 + code][rows] * grid**2)
        moved, precision = weighted_columns(basis, seen, trust)
        blocks[code] = _operator(factor, gram, moved, precision)
    return _Factors(basis, factor, blocks)


def _operator(factor: Floats, gram: Floats, moved: Floats, precision: Floats) -> Floats:
    """The T that minimises the sum over columns of (z - T x)^T W (z - T x), (n, n)."""
    n = len(factor)
    # Normal equations: sum_h (x x^T) (x) W, with unknowns ordered [column of T, row of T].
    system = (gram.T @ precision.reshape(-1, n * n)).reshape(n, n, n, n)  # [j, l, i, k]
    system = system.transpose(0, 2, 1, 3).reshape(n * n, n * n)
    right = np.einsum("jh,hik,kh->ji", factor, precision, moved).reshape(-1)
    return _solve(system, right).reshape(n, n).T


def _row(factor: Floats, values: Floats, weights: Floats) -> Floats:
    """The row vector c that minimises sum weights (values - c A)^2, (n,)."""
    solved, _ = weighted_columns(factor.T, values[:, None], weights[:, None])
    return solved[:, 0]
