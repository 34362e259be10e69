"""Smaller models with the same rewards and observations.

*The observable quotient* is the R-PSR's own space: beliefs map down, x = b Q, corners map down, and
an alpha vector maps up, alpha_b = Q alpha, with b alpha_b = x alpha. Planning from any belief is
exact, because all rewards of all futures are linear in x.

*The reachable restriction* reduces further. The states reachable from the start span a space of
dimension k <= n, the rows of P^T with P (n, k) orthonormal; y = x P and M' = P^T M[a,o] P. It is
exact from the start only. The intersection of a hull with a subspace has other corners than the
images of the hull's corners, so its domain is unknown.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rpsr import deadline
from rpsr.errors import ModelError
from rpsr.io.records import Floats
from rpsr.models.domain import Unknown
from rpsr.models.linear import LinearModel
from rpsr.models.operators import (
    DenseOperators,
    FactoredOperators,
    Operators,
    SparseOperators,
)
from rpsr.models.pomdp import POMDP
from rpsr.predictive.constructors import ROUNDING, rpsr
from rpsr.predictive.rank.closure import TOLERANCE, close, is_clear, unclear


@dataclass(frozen=True, eq=False)
class Reduction:
    """A model reduced to fewer dimensions, with the maps between both.

    model: the smaller model, of dimension k. basis (m, k): orthonormal columns in the m coordinates
    of the larger model. margin: the sizes of the smallest kept and the largest dropped direction of
    a `reachable_restriction`; else None.
    """

    model: LinearModel
    basis: Floats
    margin: tuple[float, float] | None = None

    def reduce(self, states: Floats) -> Floats:
        """States of the larger model as states of the smaller, (B, m) -> (B, k)."""
        return states @ self.basis

    def lift(self, vectors: Floats) -> Floats:
        """Value vectors of the smaller model as those of the larger, (K, k) -> (K, m)."""
        return vectors @ self.basis.T


def observable_quotient(pomdp: POMDP) -> Reduction:
    """The belief model reduced to the R-PSR's space, exact from every belief."""
    model = rpsr(pomdp)
    return Reduction(model, model.domain.corners)


def reachable_restriction(model: LinearModel, tolerance: float = TOLERANCE) -> Reduction:
    """A linear model restricted to the span of the states reachable from its start.

    A `ModelError` if the dimension is not clear in floats.
    """
    basis, margin = reachable_basis(model, tolerance)
    reduced = replace(
        model,
        kind=f"{model.kind}, reachable",
        start=model.start @ basis,
        operators=_restricted(model.operators, basis),
        normalizer=basis.T @ model.normalizer,
        rewards=basis.T @ model.rewards,
        domain=Unknown(),
        rounding=max(model.rounding, ROUNDING),  # these coordinates are rotated
        core=(),
        coordinates=None,
    )
    return Reduction(reduced, basis, margin)


def reachable_basis(
    model: LinearModel, tolerance: float = TOLERANCE, *, instead: str = "use the whole model"
) -> tuple[Floats, tuple[float, float]]:
    """P, (n, k), orthonormal: its columns span the reachable states; and the margin.

    A `ModelError` if k is not clear in floats; `instead` says what to do then.
    """
    n_actions, n_observations, n = model.operators.shape
    steps = [(a, o) for a in range(n_actions) for o in range(n_observations)]
    norms = [model.operators.norm(a, o) for a, o in steps]

    def images(fresh: Floats) -> Floats:
        block = np.zeros((0, n))
        for (a, o), norm in zip(steps, norms, strict=True):
            deadline.check()
            if norm > 0:
                moved = model.operators.left(np.ascontiguousarray(fresh.T), a, o) / norm
                block = np.concatenate([block, moved])
            if len(block) > n:  # the triangle has the same span and the same singular values
                block = np.asarray(np.linalg.qr(block, mode="r"))
        return block.T

    start = (model.start / np.linalg.norm(model.start))[:, None]
    basis, margin = close(start, images, tolerance)
    if not is_clear(margin):
        raise ModelError(
            f"{model.name}: floats cannot decide the dimension of the reachable states: "
            f"{unclear(margin)}; {instead}"
        )
    return basis, margin


def _restricted(operators: Operators, basis: Floats) -> Operators:
    """P^T M[a,o] P; sparse or factored operators give factored ones."""
    match operators:
        case SparseOperators(process=process):
            return FactoredOperators(basis, process)
        case FactoredOperators(basis=outer, process=process):
            return FactoredOperators(outer @ basis, process)
        case _:
            n_actions, n_observations, _ = operators.shape
            matrices = [
                [basis.T @ operators.matrix(a, o) @ basis for o in range(n_observations)]
                for a in range(n_actions)
            ]
            return DenseOperators(np.array(matrices))
