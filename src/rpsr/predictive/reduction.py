"""Smaller models with the same rewards and observations.

*The observable quotient* is the R-PSR's own space: beliefs map down, x = b Q, corners map down, and
a value vector maps up, alpha_b = Q alpha, with b alpha_b = x alpha. Nothing is lost for planning
from any belief, because all rewards of all futures are linear in x.

*The reachable restriction* goes on from there. The states reachable from the start span a space of
dimension k <= n, the rows of P^T with P (n, k) orthonormal; y = x P and M' = P^T M[a,o] P. It is
lossless from the start only. Its corners are not the images of the corners, because a hull cut by a
subspace has corners of its own, so its domain is unknown.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rpsr.io.records import Floats
from rpsr.models.domain import Corners, Unknown
from rpsr.models.linear import LinearModel
from rpsr.models.operators import DenseOperators
from rpsr.models.pomdp import POMDP
from rpsr.predictive.constructors import rpsr

REACH_TOLERANCE = 1e-9  # of a unit state, as for the closure of the span


@dataclass(frozen=True, eq=False)
class Reduction:
    """A smaller model, and the way down and up.

    model: of dimension k. basis (m, k): orthonormal, from the m coordinates of what was reduced.
    margin: smallest kept and largest dropped direction, where that was decided in floats.
    """

    model: LinearModel
    basis: Floats
    margin: tuple[float, float] | None = None

    def down(self, states: Floats) -> Floats:
        """States of the larger model as states of the smaller, (B, m) -> (B, k)."""
        return states @ self.basis

    def up(self, vectors: Floats) -> Floats:
        """Value vectors of the smaller model as those of the larger, (K, k) -> (K, m)."""
        return vectors @ self.basis.T


def observable_quotient(pomdp: POMDP) -> Reduction:
    """The belief model reduced to what observations and rewards depend on, lossless everywhere."""
    model = rpsr(pomdp)
    assert isinstance(model.domain, Corners)
    return Reduction(model, model.domain.points)


def reachable_restriction(model: LinearModel, tolerance: float = REACH_TOLERANCE) -> Reduction:
    """A linear model restricted to the span of the states reachable from its start."""
    n_actions, n_observations, n = model.operators.shape
    basis = np.zeros((n, 0))
    block = (model.start / np.linalg.norm(model.start))[None]
    kept, dropped = np.inf, 0.0
    while True:
        for _ in range(2):  # twice is enough
            block = block - block @ basis @ basis.T
        _, sizes, directions = np.linalg.svd(block, full_matrices=False)
        count = int((sizes > tolerance).sum())
        kept = min(kept, float(sizes[count - 1])) if count else kept
        dropped = max(dropped, float(sizes[count])) if count < len(sizes) else dropped
        fresh = directions[:count]
        basis = np.linalg.qr(np.concatenate([basis, fresh.T], axis=1))[0]
        if count == 0 or basis.shape[1] == n:
            break
        block = np.concatenate(
            [
                model.operators.left(fresh, a, o)
                for a in range(n_actions)
                for o in range(n_observations)
            ]
        )
        norms = np.linalg.norm(block, axis=1)
        block = block[norms > 0]
        # Many images of few directions: their span has the singular vectors of the Gram matrix.
        if len(block) > n:
            block = np.linalg.qr(block, mode="r")
    matrices = [
        [basis.T @ model.operators.left(np.eye(n), a, o) @ basis for o in range(n_observations)]
        for a in range(n_actions)
    ]
    reduced = replace(
        model,
        kind=f"{model.kind}, reachable",
        start=model.start @ basis,
        operators=DenseOperators(np.array(matrices)),
        normalizer=basis.T @ model.normalizer,
        rewards=basis.T @ model.rewards,
        domain=Unknown(),
        core=(),
        coordinates=None,
    )
    return Reduction(reduced, basis, (kept, dropped))
