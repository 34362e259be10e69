"""Linear models from estimated parameters: normalised, and honest about what is not known."""

from __future__ import annotations

from typing import Any

import numpy as np

from rpsr.learning.spectral_fit import Parameters
from rpsr.models import DenseOperators, LinearModel, Unknown


def learned_model(
    parameters: Parameters,
    actions: tuple[str, ...],
    observations: tuple[str, ...],
    *,
    kind: str,
    name: str = "log",
    discount: float | None = None,
    provenance: dict[str, Any] | None = None,
) -> LinearModel:
    """A linear model whose domain of states is unknown, with sum_o M[a, o] e = e for every action.

    Each M[a, o] is multiplied from the left by the matrix closest to the identity that makes it so.
    """
    e = parameters.normalizer
    operators = np.array(parameters.operators)
    for a in range(len(operators)):
        reached = operators[a].sum(axis=0) @ e
        size = float(reached @ reached)
        if size > 0:
            repair = np.eye(len(e)) + np.outer(e - reached, reached) / size
            operators[a] = repair @ operators[a]
    start = parameters.start
    mass = float(start @ e)
    return LinearModel(
        kind=kind,
        name=name,
        actions=actions,
        observations=observations,
        start=start / mass if abs(mass) > 1e-9 else start,
        operators=DenseOperators(operators),
        normalizer=e,
        rewards=parameters.rewards,
        discount=discount,
        domain=Unknown(),
        provenance=provenance or {},
    )
