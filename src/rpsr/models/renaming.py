"""A linear model with its actions and observations in another system's order.

A log has its own order of names and may lack some observations. A model learned from it can still
run on the system: names are matched. A model with the observation `END`, which marks the end of a
task in logs without such an observation, can run on a system without `END`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from rpsr.errors import InputError
from rpsr.models.filter import IMPOSSIBLE
from rpsr.models.linear import LinearModel
from rpsr.models.operators import DenseOperators, SparseOperators

END = "(end)"  # the end of a task, in models of logs without an observation for it
OTHER = "(other)"  # stands for every observation that a learned model does not know
UNSEEN = 2 * IMPOSSIBLE  # relative probability of an observation unknown to the model


def renamed(
    model: LinearModel, actions: tuple[str, ...], observations: tuple[str, ...]
) -> LinearModel:
    """The model over other lists of names: the same actions, and at least its own observations.

    `END` may be missing from the list; it then never occurs.

    An observation unknown to the model has, after every action, `UNSEEN` times the probability of
    all known ones together. It carries no information: the state moves as the mean over
    observations.
    """
    if (model.actions, model.observations) == (actions, observations):
        return model
    if set(model.actions) != set(actions):
        here = ", ".join(actions)
        raise InputError(f"has the actions {', '.join(model.actions)}; expected {here}")
    other = sorted(set(model.observations) - {*observations, END})
    if other:
        raise InputError(f"has observations unknown to this system: {', '.join(other)}")
    order = [model.actions.index(name) for name in actions]
    seen = {name: o for o, name in enumerate(model.observations) if name in observations}
    new = len(observations) - len(seen)
    chance = UNSEEN / (1 + UNSEEN * new)

    def reordered(matrix: Callable[[int, int], Any]) -> list[list[Any]]:
        rows = list[list[Any]]()
        for a in order:
            known = [matrix(a, o) for o in range(len(model.observations))]
            blind = chance * sum(known[o] for o in seen.values())
            rows.append(
                [(1 - chance * new) * known[seen[o]] if o in seen else blind for o in observations]
            )
        return rows

    matrices, domain = reordered(model.operators.matrix), model.domain
    if domain.kernel is not None:
        kernel = domain.kernel
        moved = reordered(lambda a, o: kernel[a][o])
        domain = replace(domain, kernel=tuple(map(tuple, moved)), record=None)
    if isinstance(model.operators, SparseOperators):
        operators = SparseOperators(
            tuple(tuple(sp.csr_array(matrix) for matrix in row) for row in matrices)
        )
    else:
        operators = DenseOperators(np.array(matrices))
    return replace(
        model,
        actions=actions,
        observations=observations,
        operators=operators,
        domain=domain,
        rewards=model.rewards[:, order],
        final=tuple(name for name in model.final if name in observations),
        record=None,
    )


def with_other(model: LinearModel) -> LinearModel:
    """A learned model with the observation `OTHER` in addition; other models as they are."""
    if not model.estimated or OTHER in model.observations:
        return model
    return renamed(model, model.actions, (*model.observations, OTHER))
