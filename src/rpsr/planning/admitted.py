"""Which objectives are well defined on a POMDP, for any number of steps, and why another is not."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from rpsr.io.records import Floats
from rpsr.models.as_model import as_pomdp
from rpsr.models.pomdp import POMDP
from rpsr.planning.end_components import end_components, surely_reaching

MOST_ENTRIES = 5_000_000  # transitions: more take longer than a look at a file should


def admitted_objectives(pomdp: POMDP) -> dict[str, str | None]:
    """Why each measure of an objective is not well defined; None if it is.

    Keys: discounted, probability (of a goal), reward and cost (their sums without a discount).
    Within a number of steps, each is well defined. A sum over any number of steps is, if no policy
    can collect rewards indefinitely, and either none can lose indefinitely or all rewards are costs
    that some policy stops paying.
    """
    pomdp = as_pomdp(pomdp)
    has_discount = pomdp.discount is not None and pomdp.discount < 1
    return {
        "discounted": None if has_discount else "the model has no discount below 1",
        "probability": None,
        "reward": _endless(pomdp, pomdp.R.T),
        "cost": _costs(pomdp),
    }


def _costs(pomdp: POMDP) -> str | None:
    values = pomdp.record.rewards.values
    if len(values) and values.min() < 0 < values.max():
        return f"rewards have both signs, {values.min():g} and {values.max():g}"
    return _endless(pomdp, -np.abs(pomdp.R.T))


def _endless(pomdp: POMDP, rewards: Floats) -> str | None:
    """Why sums of rewards (A, S) need not converge, or None."""
    if len(pomdp.record.transition.indices) > MOST_ENTRIES:
        return "not checked on a model of this size; solve checks it"
    n_actions = len(pomdp.actions)
    moves = sp.csr_array(sp.vstack([pomdp.transition(a) for a in range(n_actions)]))
    _, inside = end_components(moves, n_actions)
    gains = np.argwhere(inside & (rewards > 0))
    if len(gains):
        a, s = gains[0].tolist()
        return (
            f"a cycle through state {pomdp.states[s]!r} can be repeated indefinitely, and action "
            f"{pomdp.actions[a]!r} has reward {rewards[a, s]:g} in this state"
        )
    loops = inside.any(axis=0) & ~(inside.all(axis=0) & (rewards == 0).all(axis=0))
    if rewards.min() >= 0 or not loops.any():
        return None
    s = int(np.flatnonzero(loops)[0])
    if rewards.max() > 0:
        return (
            "rewards have both signs, and a policy may stay indefinitely in state "
            f"{pomdp.states[s]!r}"
        )
    rests = np.asarray(end_components(moves, n_actions, rewards == 0)[1].any(axis=0))
    hopeless = np.flatnonzero(~surely_reaching(moves, n_actions, rests) & (pomdp.start > 0))
    if len(hopeless):
        s = int(hopeless[0])
        return f"every policy has an infinite expected cost from state {pomdp.states[s]!r}"
    return None
