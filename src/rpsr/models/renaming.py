"""A linear model with its actions and observations in another system's order.

A log names what it saw, in an order of its own, and may never have seen some observation. What was
learned from it still runs on the system, where the names are matched. A model that knows of `END`,
the end of the task where nothing else shows it, runs where the end is not an observation.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from rpsr.errors import InputError
from rpsr.models.filter import IMPOSSIBLE
from rpsr.models.linear import LinearModel
from rpsr.models.operators import DenseOperators, SparseOperators

END = "(end)"  # the observation that a task is over, in models of logs that have none for it
UNSEEN = 2 * IMPOSSIBLE  # of an observation that a model does not know


def renamed(
    model: LinearModel, actions: tuple[str, ...], observations: tuple[str, ...]
) -> LinearModel:
    """The model over other lists of names, which must include its own; the actions all of them.

    `END` need not be among them: as long as there is anything to see, it is not seen.

    An observation that the model does not know is `UNSEEN` times as likely as all that it knows,
    always, and tells nothing: the state moves on as if nothing had been seen.
    """
    if (model.actions, model.observations) == (actions, observations):
        return model
    if set(model.actions) != set(actions):
        here = ", ".join(actions)
        raise InputError(f"has other actions: {', '.join(model.actions)}; expected {here}")
    other = sorted(set(model.observations) - {*observations, END})
    if other:
        raise InputError(f"has observations that do not exist here: {', '.join(other)}")
    order = [model.actions.index(name) for name in actions]
    seen = {name: o for o, name in enumerate(model.observations) if name in observations}
    new = len(observations) - len(seen)
    chance = UNSEEN / (1 + UNSEEN * new)
    matrices = []
    for a in order:
        known = [model.operators.matrix(a, o) for o in range(len(model.observations))]
        blind = chance * np.sum([known[o] for o in seen.values()], axis=0)
        matrices.append(
            [(1 - chance * new) * known[seen[o]] if o in seen else blind for o in observations]
        )
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
        rewards=model.rewards[:, order],
        final=tuple(name for name in model.final if name in observations),
    )
