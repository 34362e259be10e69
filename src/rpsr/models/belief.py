"""The POMDP as a linear model: states are beliefs, operators are D[a, o], e is all ones."""

from __future__ import annotations

import numpy as np

from rpsr.models.domain import Simplex
from rpsr.models.linear import LinearModel
from rpsr.models.operators import SparseOperators
from rpsr.models.pomdp import POMDP


def belief_model(pomdp: POMDP) -> LinearModel:
    """The belief model of a POMDP: n = S, with the simplex as its domain."""
    return LinearModel(
        kind="belief",
        name=pomdp.name,
        actions=pomdp.actions,
        observations=pomdp.observations,
        start=pomdp.start,
        operators=SparseOperators(pomdp.D),
        normalizer=np.ones(len(pomdp.states)),
        rewards=pomdp.R,
        discount=pomdp.discount,
        domain=Simplex(len(pomdp.states)),
        reward_error=pomdp.reward_error,
        pomdp=pomdp.digest,
        state_variables=pomdp.state_variables,
        record=pomdp.record,
    )
