"""Filter many histories at once, each with its own actions and observations."""

from __future__ import annotations

import numpy as np

from rpsr.io.records import Bools, Floats, Ints
from rpsr.models.filter import RobustBatch, alike
from rpsr.models.linear import LinearModel


class FilterBatch:
    """A `Filter` for each of B histories of equal length.

    states (B, n): the current ones.
    """

    def __init__(self, model: LinearModel, batch: int) -> None:
        self.model = model
        self.states: Floats = np.tile(model.start, (batch, 1))

    def update(self, actions: Ints, observations: Ints, rows: Ints | None = None) -> Bools:
        """Update with one interaction per history; whether each was possible, (B,).

        An impossible interaction leaves the state of its history unchanged.
        rows: the histories to update, by default all; the other entries are ignored.
        """
        if rows is None:
            self.states, possible = advance(self.model, self.states, actions, observations)
            return possible
        after, possible = self.states.copy(), np.ones(len(self.states), dtype=np.bool_)
        after[rows], possible[rows] = advance(
            self.model, self.states[rows], actions[rows], observations[rows]
        )
        self.states = after
        return possible

    def restart(self, rows: Ints) -> None:
        """Return some of the histories to the start, by their positions in the batch."""
        self.states = self.states.copy()
        self.states[rows] = self.model.start

    def keep(self, rows: Ints) -> None:
        """Keep only some of the histories, by their positions in the batch."""
        self.states = self.states[rows]


def filter_batch(model: LinearModel, batch: int) -> FilterBatch | RobustBatch:
    """B histories at the start of a model, filtered together as `LinearModel.filter` filters one.

    For an estimated model no observation is impossible (`RobustBatch`).
    """
    return RobustBatch(model, batch) if model.estimated else FilterBatch(model, batch)


def advance(
    model: LinearModel, states: Floats, actions: Ints, observations: Ints
) -> tuple[Floats, Bools]:
    """The states after one interaction each, (B, n), and whether it was possible, (B,).

    Equal to `LinearModel.update`, with one product per distinct pair of action and observation. An
    impossible interaction leaves the state unchanged.
    """
    after = states.copy()
    possible = np.ones(len(states), dtype=np.bool_)
    for a, o, rows in alike(actions, observations):
        moved, mass = model.moved(states[rows], a, o)
        sound = (states[rows] @ model.emissions[a, :, o] > model.rounding) & (mass > 0)
        possible[rows] = sound
        after[rows[sound]] = moved[sound] / mass[sound, None]
    return after, possible
