"""Which rewards a PSR can represent, and the closest ones if it cannot.

A PSR of a core set with outcome matrix U represents exactly the POMDP rewards {U W}: a POMDP reward
matrix R is among them if and only if its columns depend on U's (the accuracy condition). Otherwise
W = U^+ R is the least-squares solution over states, and U W = Q Q^T R, the reconstruction, are the
PSR's rewards. With weights over states, the least squares are weighted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rpsr.errors import InputError, ModelError
from rpsr.io.records import Floats
from rpsr.predictive.core import Core
from rpsr.predictive.views import in_coordinates


def approximate_rewards(core: Core, rewards: Floats, weights: Floats | None = None) -> Floats:
    """PSR rewards W = U^+ R in the core's coordinates, (S, A) -> (n, A).

    weights (S,), non-negative: the weight of each state's squared error, by default equal. If zero
    weights leave W undetermined, the smallest U W is used.
    """
    return in_coordinates(core.coordinates, _fit(core, rewards, weights))


def pomdp_rewards(core: Core, psr_rewards: Floats) -> Floats:
    """The POMDP form U W of PSR rewards, (n, A) -> (S, A) (Corollary 1)."""
    return core.outcomes @ np.asarray(psr_rewards, dtype=np.float64)


def reconstruct(core: Core, rewards: Floats, weights: Floats | None = None) -> Floats:
    """The reconstruction U U^+ R of POMDP rewards, (S, A) -> (S, A) (Corollary 2)."""
    return core.basis @ _fit(core, rewards, weights)


def distance_to_representable(core: Core, rewards: Floats) -> float:
    """The distance of R from {U W}, relative to R's size (Frobenius); 0 for R = 0.

    About 1e-15 for a member, in floats. Whether the model's own rewards are members is decided
    exactly by `Core.accurate`.
    """
    rewards = _checked(core, rewards)
    size = float(np.linalg.norm(rewards))
    outside = rewards - core.basis @ (core.basis.T @ rewards)
    return float(np.linalg.norm(outside)) / size if size > 0 else 0.0


def least_largest_error(core: Core, rewards: Floats) -> float:
    """min over W of max |R - U W|, over states and actions, for R (S, A).

    Least squares do not minimise it: U U^+ R may have a larger one. One linear program per action.
    """
    from scipy.optimize import linprog  # here, because the import is slow and rarely needed

    rewards = _checked(core, rewards)
    ones = np.ones((len(rewards), 1))
    errors = np.vstack([np.hstack([core.basis, -ones]), np.hstack([-core.basis, -ones])])
    cost = np.append(np.zeros(core.basis.shape[1]), 1.0)
    least, size = 0.0, float(np.abs(rewards).max()) or 1.0
    for column in rewards.T / size:  # solvers treat very large numbers as infinite
        optimum: Any = linprog(cost, errors, np.append(column, -column), bounds=(None, None))
        if not optimum.success:
            raise ModelError(f"the linear program for the smallest error failed: {optimum.message}")
        least = max(least, float(optimum.fun))
    return least * size


def _fit(core: Core, rewards: Floats, weights: Floats | None) -> Floats:
    """Coefficients on Q, (n, A)."""
    rewards = _checked(core, rewards)
    if weights is None:
        return core.basis.T @ rewards
    weights = np.asarray(weights, dtype=np.float64)
    sound = weights.shape == (len(rewards),) and np.isfinite(weights).all()
    if not sound or weights.min() < 0 or not weights.any():
        expected = f"expected {len(rewards)} non-negative numbers, not all zero"
        raise InputError(f"weights: read {_summary(weights)}, {expected}")
    root = np.sqrt(weights)
    fitted = np.linalg.lstsq(root[:, None] * core.basis, root[:, None] * rewards, rcond=None)[0]
    return np.asarray(fitted, dtype=np.float64)


def _summary(array: Floats) -> str:
    """The shape of an array, and the range of its numbers."""
    shape = f"shape {array.shape}"
    return f"{shape}, from {array.min():g} to {array.max():g}" if array.size else shape


def _checked(core: Core, rewards: Floats) -> Floats:
    array = np.asarray(rewards, dtype=np.float64)
    if array.ndim != 2 or len(array) != len(core.basis):
        expected = f"({len(core.basis)}, A): a row per state and a column per action"
        raise InputError(f"rewards: read shape {array.shape}, expected {expected}")
    return array
