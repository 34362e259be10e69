"""Expected sums of rewards of a controller without a discount, on a POMDP's beliefs.

Controller and POMDP together are a Markov chain on pairs of a node and a state. Its strongly
connected components that are never left are where the chain ends up. Where their rewards are 0, so
is the sum. Otherwise it has no finite value, nor has any pair from which they can be reached. All
other pairs are left in the end, so that their values solve a linear system with one solution.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from rpsr.errors import ModelError
from rpsr.io.records import Floats, Ints
from rpsr.models.linear import LinearModel
from rpsr.models.operators import Sparse, SparseOperators, entries_of
from rpsr.planning.end_components import leading_to
from rpsr.planning.linear_systems import factorised

MOST_ENTRIES = 20_000_000  # of the chain: some gigabytes


def sums_to_the_end(model: LinearModel, probabilities: Floats, successors: Ints) -> Floats | None:
    """The sums of rewards from every pair, (K, n), up to rounding; NaN where they are infinite.

    probabilities (K, A): of actions in each node. successors (K, A, O): the next node, -1 where an
    observation is impossible. None if the model's states are no beliefs or the chain is too large.
    """
    if not isinstance(model.operators, SparseOperators):
        return None
    chain = _chain(model, probabilities, successors)
    if chain is None:
        return None
    rewards = np.asarray(probabilities @ model.rewards.T, dtype=np.float64).ravel()
    count, component = connected_components(chain, directed=True, connection="strong")
    entries = sp.coo_array(chain)
    left = np.zeros(count, dtype=np.bool_)
    left[component[entries.row[component[entries.row] != component[entries.col]]]] = True
    earns = np.zeros(count, dtype=np.bool_)
    earns[component[rewards != 0]] = True
    values = np.zeros(len(rewards))
    endless = leading_to(chain, (~left & earns)[component])
    values[endless] = np.nan
    where = np.flatnonzero(left[component] & ~endless)
    if len(where):
        try:
            values[where] = factorised(sp.csr_array(chain[where][:, where]), rewards[where])
        except RuntimeError:  # the probability of leaving is lost in rounding
            raise ModelError(
                f"{model.name}: the policy takes too many steps to end the task, so its sum of "
                "rewards cannot be computed in floats; give a number of steps or a discount below 1"
            ) from None
    return values.reshape(len(probabilities), model.dimension)


def sum_at_start(model: LinearModel, values: Floats) -> float:
    """The sum at the model's start of values (n,); a `ModelError` if it is infinite."""
    begin = np.flatnonzero(model.start)
    if np.isnan(values[begin]).any():
        raise ModelError(
            f"{model.name}: the sum of rewards of this policy is infinite: it may stay "
            "indefinitely where rewards are not 0; give a number of steps or a discount below 1"
        )
    return float(model.start[begin] @ values[begin])


def _chain(model: LinearModel, probabilities: Floats, successors: Ints) -> Sparse | None:
    """Transition probabilities of pairs, sparse (K * n, K * n), pair k * n + s."""
    assert isinstance(model.operators, SparseOperators)
    entries, n = entries_of(model.operators.as_process()), model.dimension
    begins = np.searchsorted(entries.action, np.arange(len(model.actions) + 1))
    if int(((probabilities > 0) * np.diff(begins)).sum()) > MOST_ENTRIES:
        return None
    rows: list[Ints] = []
    columns: list[Ints] = []
    values: list[Floats] = []
    for k, a in np.argwhere(probabilities > 0).tolist():
        part = slice(int(begins[a]), int(begins[a + 1]))
        after = successors[k, a][entries.observation[part]]
        known = after >= 0
        rows.append(k * n + entries.row[part][known])
        columns.append(after[known] * n + entries.column[part][known])
        values.append(probabilities[k, a] * entries.value[part][known])
    size = len(probabilities) * n
    parts = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    return sp.csr_array(sp.coo_array(parts, shape=(size, size)))
