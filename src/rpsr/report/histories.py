"""Where along a history a PSR first expects a wrong reward."""

from __future__ import annotations

import numpy as np

from rpsr.io.records import Floats
from rpsr.models.linear import LinearModel

MOST_HISTORIES = 500
Pairs = tuple[tuple[str, str], ...]  # actions and observations, by name


def first_wrong_history(
    belief: LinearModel, psr: LinearModel, *, limit: int = MOST_HISTORIES
) -> Pairs | None:
    """The first history, breadth-first, after which two models of one POMDP expect other rewards.

    None if the first `limit` histories show no difference. The history is pairs of names.
    """
    scale = max(1.0, float(np.abs(belief.rewards).max()))
    queue: list[tuple[Floats, Floats, Pairs]] = [(belief.start, psr.start, ())]
    for b, x, history in queue:  # grows as it is walked
        off = np.abs(belief.expected_rewards(b) - psr.expected_rewards(x))
        if off.max() > 1e-9 * scale:
            return history
        for a, action in enumerate(belief.actions):
            if len(queue) >= limit:
                break
            possible = (belief.predict(b, a) > belief.rounding) & (psr.predict(x, a) > psr.rounding)
            for o in np.flatnonzero(possible).tolist():
                after = (*history, (action, belief.observations[o]))
                queue.append((belief.update(b, a, o), psr.update(x, a, o), after))
    return None
