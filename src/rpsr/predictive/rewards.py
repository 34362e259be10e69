"""Which rewards a PSR can carry, and the closest ones where it cannot.

A PSR of a core set with outcome matrix U represents exactly the POMDP rewards {U W}: a POMDP reward
matrix R is among them if and only if its columns depend on U's (the accuracy condition). Otherwise
W = U^+ R is the best in least squares over states, and U W = Q Q^T R is what the PSR then believes
the rewards to be: the reconstruction. With weights over states, the least squares are weighted.
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

    weights (S,), non-negative: how much an error in each state matters; all alike by default. Where
    weights vanish on so many states that W is not determined, the smallest U W is taken.
    """
    return in_coordinates(core.coordinates, _fit(core, rewards, weights))


def pomdp_rewards(core: Core, psr_rewards: Floats) -> Floats:
    """The POMDP form U W of PSR rewards, (n, A) -> (S, A) (Corollary 1)."""
    return core.outcomes @ np.asarray(psr_rewards, dtype=np.float64)


def reconstruct(core: Core, rewards: Floats, weights: Floats | None = None) -> Floats:
    """The reconstruction U U^+ R of POMDP rewards, (S, A) -> (S, A) (Corollary 2)."""
    return core.basis @ _fit(core, rewards, weights)


def distance_to_representable(core: Core, rewards: Floats) -> float:
    """How far R is from {U W}, relative to R's size (Frobenius); 0 for R = 0.

    About 1e-15 for a member, in floats. Whether the model's own rewards are members is decided
    exactly by `Core.accurate`.
    """
    rewards = _checked(core, rewards)
    size = float(np.linalg.norm(rewards))
    outside = rewards - core.basis @ (core.basis.T @ rewards)
    return float(np.linalg.norm(outside)) / size if size > 0 else 0.0


def least_largest_error(core: Core, rewards: Floats) -> float:
    """The smallest largest error, over states and actions, of any rewards U W, for R (S, A).

    Least squares do not minimise it: U U^+ R may have a larger one. A linear program an action.
    """
    from scipy.optimize import linprog  # here, since few need it and it takes its time

    rewards = _checked(core, rewards)
    ones = np.ones((len(rewards), 1))
    errors = np.vstack([np.hstack([core.basis, -ones]), np.hstack([-core.basis, -ones])])
    cost = np.append(np.zeros(core.basis.shape[1]), 1.0)
    least, size = 0.0, float(np.abs(rewards).max()) or 1.0
    for column in rewards.T / size:  # solvers take very large numbers for infinite ones
        found: Any = linprog(cost, errors, np.append(column, -column), bounds=(None, None))
        if not found.success:
            raise ModelError(f"the least largest error was not found: {found.message}")
        least = max(least, float(found.fun))
    return least * size


def _fit(core: Core, rewards: Floats, weights: Floats | None) -> Floats:
    """Coefficients on Q, (n, A)."""
    rewards = _checked(core, rewards)
    if weights is None:
        return core.basis.T @ rewards
    weights = np.asarray(weights, dtype=np.float64)
    sound = weights.shape == (len(rewards),) and np.isfinite(weights).all()
    if not sound or weights.min() < 0 or not weights.any():
        raise InputError(f"weights: expected {len(rewards)} non-negative numbers, not all zero")
    root = np.sqrt(weights)
    fitted = np.linalg.lstsq(root[:, None] * core.basis, root[:, None] * rewards, rcond=None)[0]
    return np.asarray(fitted, dtype=np.float64)


def _checked(core: Core, rewards: Floats) -> Floats:
    array = np.asarray(rewards, dtype=np.float64)
    if array.ndim != 2 or len(array) != len(core.basis):
        raise InputError(f"rewards: read shape {array.shape}, expected ({len(core.basis)}, A)")
    return array
