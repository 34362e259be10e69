"""PSR and R-PSR of a POMDP, as linear models.

With an orthonormal basis Q (S, n) of the span of outcome vectors, a belief b becomes x = b Q, and

    M[a,o] = Q^T D[a,o] Q      e = Q^T 1      rewards = Q^T R      domain: the hull of Q's rows.

The span is closed under every D[a,o], so D[a,o] Q = Q M[a,o]: rows of Q, the corners, move to
mixtures of corners exactly as states move to states. In an R-PSR the rewards lie in the span and
are exact; in a PSR, Q^T R is the least-squares approximation (the paper's Theorem 2), which is
exact if and only if the accuracy condition holds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from rpsr.errors import InputError
from rpsr.io.records import Floats
from rpsr.models.as_model import as_pomdp
from rpsr.models.domain import Corners
from rpsr.models.linear import LinearModel
from rpsr.models.operators import DenseOperators, FactoredOperators, Operators
from rpsr.models.pomdp import POMDP
from rpsr.predictive.core import GROWTH, Core, Kind, Order, find_core, given_core, outcomes_of
from rpsr.predictive.futures import Future
from rpsr.predictive.observed_rewards import reward_aware
from rpsr.predictive.projection import off_at_corners, rewards_meant

LARGEST_DENSE = 2**23  # numbers in all operators together, 64 MiB; beyond that they stay factored
ROUNDING = 1e-13  # absolute error of a probability computed in rotated coordinates, at least


def psr(
    pomdp: POMDP,
    *,
    search: Order = "bfs",
    core: Core | Iterable[Future | str] | None = None,
    rewards: Any = None,
    exact: bool | None = None,
) -> LinearModel:
    """The PSR of a POMDP, with a core set of tests from a search or given by the user.

    rewards (n, A), in the core's coordinates: replace the least-squares approximation of the
    POMDP's rewards.
    """
    chosen = _core_of(pomdp, "psr", search, core, exact)
    model = predictive_model(pomdp, chosen)
    if rewards is None:
        return model
    given = np.asarray(rewards, dtype=np.float64)
    if given.shape != (chosen.rank, len(pomdp.actions)):
        expected = (chosen.rank, len(pomdp.actions))
        raise InputError(f"rewards: read shape {given.shape}, expected (rank, actions), {expected}")
    coordinates = chosen.coordinates @ given
    off = off_at_corners(chosen, coordinates, chosen.outcomes @ given)
    return replace(model, rewards=coordinates, reward_error=off)


def rpsr(
    pomdp: POMDP,
    *,
    search: Order = "bfs",
    core: Core | Iterable[Future | str] | None = None,
    exact: bool | None = None,
) -> LinearModel:
    """The R-PSR of a POMDP, with a core set of intents from a search or given by the user."""
    return predictive_model(pomdp, _core_of(pomdp, "rpsr", search, core, exact))


def reward_aware_psr(
    pomdp: POMDP, *, search: Order = "bfs", exact: bool | None = None
) -> LinearModel:
    """The PSR of the POMDP whose observations include the reward: another control problem."""
    return psr(reward_aware(pomdp), search=search, exact=exact)


def predictive_model(pomdp: POMDP, core: Core) -> LinearModel:
    """The linear model of a POMDP in the span of a core set."""
    basis = core.basis
    rewards, off = rewards_meant(pomdp, core)
    error = float(np.sqrt(core.rank)) * core.error
    return LinearModel(
        kind=core.kind,
        name=pomdp.name,
        actions=pomdp.actions,
        observations=pomdp.observations,
        start=pomdp.start @ basis,
        operators=_operators(pomdp, basis),
        normalizer=basis.sum(axis=0),
        rewards=rewards,
        discount=pomdp.discount,
        domain=Corners(basis, pomdp.D, pomdp.start, error, pomdp.record),
        rounding=_rounding(core),
        reward_error=off,
        core=tuple(str(member) for member in core.members),
        coordinates=core.coordinates if core.members else None,
        pomdp=pomdp.digest,
        state_variables=pomdp.state_variables,
        provenance={
            "search": core.search,
            "certified": core.certified,
            "error_probability": core.error_probability,
        },
    )


def _core_of(
    pomdp: POMDP,
    kind: Kind,
    search: Order,
    core: Core | Iterable[Future | str] | None,
    exact: bool | None,
) -> Core:
    pomdp = as_pomdp(pomdp)
    if core is None:
        return find_core(pomdp, kind, search=search, exact=exact)
    if not isinstance(core, Core):
        return given_core(pomdp, kind, core)
    if core.kind != kind or len(core.basis) != len(pomdp.states):
        made, size = f"{core.kind} core of a POMDP with {len(core.basis)} states", len(pomdp.states)
        raise InputError(
            f"core: read a {made}, expected a {kind} core of {pomdp.name}, with {size} states; "
            "leave out core to have one found"
        )
    if not np.array_equal(outcomes_of(pomdp, core.members), core.outcomes):
        raise InputError(
            f"core: read a core of another model, whose outcomes differ from those of {pomdp.name}"
        )
    return core


def _rounding(core: Core) -> float:
    """A bound on the error of a probability in the model's coordinates.

    A basis of blocks is non-negative, and so are states and operators in it: sums have no
    cancellation, and only impossible outcomes are zero. Other bases rotate, and probabilities are
    then sums with cancellation.
    """
    return 0.0 if core.basis.min() >= 0 else max(ROUNDING, GROWTH * core.leak)


def _operators(pomdp: POMDP, basis: Floats) -> Operators:
    n = basis.shape[1]
    if len(pomdp.actions) * len(pomdp.observations) * n * n > LARGEST_DENSE:
        return FactoredOperators(basis, pomdp.D)
    matrices = [[basis.T @ (process @ basis) for process in row] for row in pomdp.D]
    return DenseOperators(np.array(matrices))
