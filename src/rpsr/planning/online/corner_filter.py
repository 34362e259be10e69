"""The filter of a model at its corners: the current state as a mixture of corners.

A mixture w moves to w'(s') = sum_s w(s) K[a, o](s, s') / P(o), where K says how corners move (see
`corner_model`). For a belief model the corners are the states, and w is the belief. All products
are positive, so each step adds a relative error of rounding size, and nothing cancels.
"""

from __future__ import annotations

import numpy as np

from rpsr.errors import ImpossibleObservation
from rpsr.io.records import Floats
from rpsr.models.filter import IMPOSSIBLE, REPLAY
from rpsr.planning.corners.corner_model import CornerProcess, corner_process, summed

Interactions = tuple[tuple[int, int], ...]


class CornerFilter:
    """Mixtures of the corners of a process, updated with actions and observations."""

    def __init__(self, process: CornerProcess) -> None:
        model = process.model
        # With a discount of 0 the process of a planner has no moves.
        self._moves = process if model.discount else corner_process(model.with_discount(1))
        self._discount = model.discount or 1.0
        self.model, self.start = model, process.start

    def after(self, mixture: Floats, recent: Interactions) -> Floats:
        """The mixture after the last of the recent interactions, (k,) -> (k,).

        An observation of probability zero raises `ImpossibleObservation`. An estimated model may be
        wrong about that: it returns to the start and replays the recent interactions, at most
        `REPLAY` of them, without those that are impossible there.
        """
        model = self.model
        moved, chance = self._moved(mixture, *recent[-1])
        if chance > (IMPOSSIBLE if model.estimated else model.rounding):
            return moved / moved.sum()
        if not model.estimated:
            action, observation = recent[-1]
            raise ImpossibleObservation(
                f"observation {model.observations[observation]!r} cannot follow action "
                f"{model.actions[action]!r} in the current state: its probability is {chance:.3g}"
            )
        again = self.start
        for interaction in recent[-REPLAY:]:
            moved, chance = self._moved(again, *interaction)
            again = moved / moved.sum() if chance > IMPOSSIBLE else self.start
        return again

    def _moved(self, mixture: Floats, action: int, observation: int) -> tuple[Floats, float]:
        """The mixture before its division, times the discount, and the observation's chance."""
        process, where = self._moves, np.flatnonzero(mixture)
        first = process.indptr[action * process.k + where]
        count = process.indptr[action * process.k + where + 1] - first
        ends = np.cumsum(count)
        entries = np.arange(ends[-1]) + np.repeat(first - ends + count, count)
        kept = process.observation[entries] == observation
        entries, weight = entries[kept], np.repeat(mixture[where], count)[kept]
        moved = summed(process.target[entries], weight * process.chance[entries], process.k)
        return moved, float(moved.sum()) / self._discount
