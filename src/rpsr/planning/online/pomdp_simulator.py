"""A POMDP as a generative simulator, with the cheap bounds of its states at the leaves.

For POMDPs whose beliefs are too large to filter exactly. The upper bound of a state is the
fast-informed one, the lower bounds are those of the blind policies (see `cheap_bounds`).
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from rpsr.io.records import Bools, Floats, Ints
from rpsr.models.as_model import as_pomdp
from rpsr.models.pomdp import POMDP
from rpsr.planning.convergence import infinite_discount
from rpsr.planning.corners.cheap_bounds import blind_values, fast_informed_values
from rpsr.planning.corners.corner_model import CornerProcess, corner_process


class PomdpSimulator:
    """Samples steps of a POMDP with a discount below 1; states are indices, (B,) at a time."""

    batched = True

    def __init__(self, pomdp: POMDP) -> None:
        pomdp = as_pomdp(pomdp)
        self.pomdp, self.actions, self.observations = pomdp, pomdp.actions, pomdp.observations
        self.discount = infinite_discount(pomdp.belief_model())
        outcomes, start = pomdp.outcomes, pomdp.record.start
        rows = len(pomdp.actions) * len(pomdp.states)
        row = outcomes.action * len(pomdp.states) + outcomes.state
        row = np.append(row, np.full(len(start.indices), rows))
        self._indptr = np.searchsorted(row, np.arange(rows + 2))
        sums = np.cumsum(np.append(outcomes.probability, start.values))
        before = np.append(0.0, sums)[self._indptr[:-1]]
        self._ends = row + (sums - before[row])  # ascending: the row, then its cumulative sums
        self._next = np.append(outcomes.next_state, start.indices)
        self._seen, self._rewards = outcomes.observation, outcomes.reward

    def _drawn(self, rows: Ints, rng: np.random.Generator) -> Ints:
        """The outcome of each row that a random number selects."""
        where = np.searchsorted(self._ends, rows + rng.random(len(rows)), side="right")
        return np.clip(where, self._indptr[rows], self._indptr[rows + 1] - 1)

    def start(self, rng: np.random.Generator, count: int) -> Ints:
        """Sample first states, (B,)."""
        return self._next[self._drawn(np.full(count, len(self._indptr) - 2), rng)]

    def step(
        self, states: Ints, action: int, rng: np.random.Generator
    ) -> tuple[Ints, Ints, Floats, Bools]:
        """Next states, observations and rewards, (B,); episodes do not end."""
        drawn = self._drawn(action * len(self.pomdp.states) + states, rng)
        ended = np.zeros(len(states), dtype=np.bool_)
        return self._next[drawn], self._seen[drawn], self._rewards[drawn], ended

    @cached_property
    def _process(self) -> CornerProcess:
        return corner_process(self.pomdp.belief_model())

    @cached_property
    def _informed(self) -> Floats:
        return fast_informed_values(self._process).max(axis=0)

    @cached_property
    def _blind(self) -> Floats:
        return np.ascontiguousarray(blind_values(self._process).T)

    def upper(self, states: Ints) -> Floats:
        """The fast-informed bound of each state, (B,)."""
        return self._informed[states]

    def lower(self, states: Ints) -> Floats:
        """The mean values of blind policies in these states, (A,)."""
        return self._blind[states].mean(axis=0)
