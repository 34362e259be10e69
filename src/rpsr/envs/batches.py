"""B episodes of one model side by side, each of which may begin again at any step."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from rpsr.envs.kernels import advance
from rpsr.evaluation.systems import FilteredStates, HiddenStates
from rpsr.io.records import Bools, Floats, Ints
from rpsr.models.filter import RobustBatch
from rpsr.models.filter_batch import FilterBatch
from rpsr.models.linear import LinearModel


class Batch(Protocol):
    """The current states of B episodes."""

    @property
    def states(self) -> Ints | Floats:
        """Hidden states (B,), or states of a linear model (B, n)."""
        ...

    def begin(self, rng: np.random.Generator, which: Bools) -> None:
        """Begin some of the episodes again; which (B,)."""
        ...

    def step(self, rng: np.random.Generator, actions: Ints, begins: Bools) -> tuple[Ints, Floats]:
        """Observations (B,) and rewards (B,) of one step.

        Where begins (B,) is true, the episode begins again instead of taking a step. Its
        observation is then the number of observations (an index that no observation has), and its
        reward is 0.
        """
        ...


class HiddenBatch:
    """Episodes of a POMDP, stepped by the compiled kernel."""

    def __init__(self, tables: HiddenStates, initial: int, batch: int) -> None:
        self._tables = tables
        self._initial = initial
        self.states: Ints = np.zeros(batch, dtype=np.int64)

    def begin(self, rng: np.random.Generator, which: Bools) -> None:
        """Begin some of the episodes again; which (B,)."""
        self.states[which] = self._tables.begin(rng, int(which.sum()))

    def step(self, rng: np.random.Generator, actions: Ints, begins: Bools) -> tuple[Ints, Floats]:
        """Observations and rewards of one step; one random number per episode."""
        batch = len(self.states)
        observations, paid = np.empty(batch, dtype=np.int64), np.empty(batch)
        advance(
            self._tables.outcomes,
            self._tables.rewards,
            self._tables.n_states,
            self._initial,
            rng.random(batch),
            actions,
            begins,
            self.states,
            observations,
            paid,
        )
        return observations, paid


class FilteredBatch:
    """Episodes of a linear model, whose states are filtered together."""

    def __init__(self, model: LinearModel, batch: int) -> None:
        self._sampler = FilteredStates(model)
        self._size = batch
        self._at: FilterBatch | RobustBatch | None = None

    @property
    def states(self) -> Floats:
        """States of the model, (B, n)."""
        assert self._at is not None
        return self._at.states

    def begin(self, rng: np.random.Generator, which: Bools) -> None:
        """Begin some of the episodes again; which (B,)."""
        if self._at is None:
            self._at = self._sampler.begin(rng, self._size)
        else:
            self._at.restart(np.flatnonzero(which))

    def step(self, rng: np.random.Generator, actions: Ints, begins: Bools) -> tuple[Ints, Floats]:
        """Observations and rewards of one step."""
        assert self._at is not None
        # An episode to begin again takes a step, too, and its result is dropped.
        self._at, seen, paid = self._sampler.step(rng, self._at, actions)
        if begins.any():
            self._at.restart(np.flatnonzero(begins))
            seen[begins] = len(self._sampler.model.observations)
            paid[begins] = 0.0
        return seen, paid
