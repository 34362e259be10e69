"""The exact expectations of moments, computed from a model.

For tests of estimators: given these, a consistent estimator returns the model.
"""

from __future__ import annotations

import numpy as np

from rpsr.io.records import Floats
from rpsr.learning.moments.hankel import Hankel, gather
from rpsr.learning.moments.window_plan import WindowPlan
from rpsr.models import LinearModel


def exact_hankel(model: LinearModel, plan: WindowPlan, steps: int, samples: float = 1e6) -> Hankel:
    """Exact expectations for episodes of a uniform policy, over their first `steps` steps.

    samples: the number of windows for the variances, which are those of counted probabilities.
    """
    n_actions, n_observations, n = model.operators.shape
    matrices = np.array(
        [model.operators.matrix(a, o) for a in range(n_actions) for o in range(n_observations)]
    )
    move = matrices.sum(axis=0) / n_actions
    states = [model.start]
    for _ in range(steps - 1):
        states.append(states[-1] @ move)
    columns = np.zeros((plan.features, n))  # the mean unnormalised state where a feature is on
    columns[0] = np.sum(states, axis=0) / steps
    columns[1] = model.start / steps
    for k, word in enumerate(plan.histories):
        if word:
            begins = 1 if plan.anchored else max(steps - len(word), 0)
            x = np.sum(states[:begins], axis=0) / steps + np.zeros(n)
            for code in word:
                x = x @ matrices[code] / n_actions
            columns[k + 1] = x
    centres = columns[0] @ model.rewards  # (A,)
    rewards = model.rewards - model.normalizer[:, None] * centres
    p = np.zeros((len(plan.nodes), plan.features))
    height = int(plan.rows.max()) + 1
    r = np.zeros((height, n_actions, plan.features))
    for word, node in plan.nodes.items():
        vectors = np.column_stack([model.normalizer, rewards / plan.scale])
        for code in reversed(word):
            vectors = matrices[code] @ vectors
        values: Floats = columns @ vectors  # (H, 1 + A)
        p[node] = values[:, 0]
        if plan.rows[node] >= 0:
            r[plan.rows[node]] = values[:, 1:].T
    lengths = np.array([len(word) for word in plan.nodes], dtype=np.float64)
    v = (p * n_actions ** lengths[:, None] + 1 / samples) / samples
    at = plan.rows >= 0
    vr = np.repeat(v[at][:, None], n_actions, axis=1) * (1 + np.abs(r).max())
    counts = samples * p[at] / n_actions ** (lengths[at, None] + 1)
    return Hankel(
        plan,
        gather(plan, p, r),
        gather(plan, v, vr),
        samples,
        np.repeat(counts[:, None], n_actions, axis=1),
        np.ones_like(r),
        centres,
    )
