"""Many states filtered at once, each by its own action and observation."""

from __future__ import annotations

import numpy as np

from rpsr.io.records import Bools, Floats, Ints
from rpsr.models.filter import alike
from rpsr.models.linear import LinearModel


def advance(
    model: LinearModel, states: Floats, actions: Ints, observations: Ints
) -> tuple[Floats, Bools]:
    """The states after one interaction each, (B, n), and whether it was possible, (B,).

    As `LinearModel.update` does it, one product for every pair of action and observation there is.
    A state for which the interaction was impossible stays where it was.
    """
    after = states.copy()
    possible = np.ones(len(states), dtype=np.bool_)
    for a, o, rows in alike(actions, observations):
        moved, mass = model.moved(states[rows], a, o)
        sound = (states[rows] @ model.emissions[a, :, o] > model.rounding) & (mass > 0)
        possible[rows] = sound
        after[rows[sound]] = moved[sound] / mass[sound, None]
    return after, possible
