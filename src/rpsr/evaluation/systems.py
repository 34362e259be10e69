"""Systems to simulate: a POMDP by its hidden states, a linear model by its filtered ones.

Both have the same two methods for a batch of B episodes: `begin` gives the first states, `step` the
results of actions. A POMDP samples an outcome (next state and observation) by the alias method,
with its reward R(s, a, s', o). A linear model samples an observation from P(o | x, a) and has the
expected reward x R[:, a].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rpsr.evaluation.kernels import Outcomes, alias_tables, pick
from rpsr.io.records import Bools, Floats, Ints
from rpsr.models.filter import RobustBatch, clipped
from rpsr.models.filter_batch import FilterBatch, filter_batch
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.models.terminal import final_observations


class HiddenStates:
    """A POMDP as tables of outcomes: rows by action and state, then one for the start.

    outcomes: in the form of the kernels; rewards (N,).
    """

    def __init__(self, pomdp: POMDP) -> None:
        outcomes, start = pomdp.outcomes, pomdp.record.start
        self.n_states = len(pomdp.states)
        rows = len(pomdp.actions) * self.n_states
        row = np.append(
            outcomes.action * self.n_states + outcomes.state, np.full(len(start.indices), rows)
        )
        indptr = np.searchsorted(row, np.arange(rows + 2)).astype(np.int64)
        probability = np.append(outcomes.probability, start.values)
        keep, alias = alias_tables(indptr, probability)
        none = np.zeros(len(start.indices))
        next_state = np.append(outcomes.next_state, start.indices)
        seen = np.append(outcomes.observation, none.astype(np.int64))
        table = np.ascontiguousarray(np.stack([next_state, seen, alias], axis=1))
        self.outcomes = Outcomes(indptr, keep, table)
        self.rewards = np.append(outcomes.reward, none)

    def _pick(self, rng: np.random.Generator, rows: Ints) -> Ints:
        indptr, keep, table = self.outcomes
        first, count = indptr[rows], indptr[rows + 1] - indptr[rows]
        where = rng.random(len(rows)) * count
        column = np.minimum(where.astype(np.int64), count - 1)
        kept = where - column < keep[first + column]
        return np.where(kept, first + column, table[first + column, 2])

    def draw(self, chance: float, at: int | None = None, action: int = 0) -> tuple[int, int, float]:
        """Next state, observation and reward of the outcome that a number in [0, 1) selects.

        Without a state, it selects the first state, with no observation (0) and no reward. One
        step at a time needs no compiled kernel.
        """
        row = len(self.outcomes.indptr) - 2 if at is None else action * self.n_states + at
        plain: Any = pick
        drawn = plain.py_func(self.outcomes, row, chance)
        after, seen, _ = self.outcomes.table[drawn].tolist()
        return after, seen, float(self.rewards[drawn])

    def begin(self, rng: np.random.Generator, batch: int) -> Ints:
        """Hidden states sampled from the start distribution, (B,)."""
        indptr, _, table = self.outcomes
        return table[self._pick(rng, np.full(batch, len(indptr) - 2)), 0]

    def step(self, rng: np.random.Generator, at: Ints, actions: Ints) -> tuple[Ints, Ints, Floats]:
        """Next states, observations and rewards of sampled outcomes."""
        drawn = self._pick(rng, actions * self.n_states + at)
        table = self.outcomes.table
        return table[drawn, 0], table[drawn, 1], self.rewards[drawn]


@dataclass(frozen=True, eq=False)
class FilteredStates:
    """A linear model as the system.

    An estimated model may predict negative probabilities, or observations after which it has no
    state. It is simulated with its robust filter (`RobustBatch`): negative probabilities count as
    zero, and the others are divided by their sum.
    """

    model: LinearModel

    def begin(self, rng: np.random.Generator, batch: int) -> FilterBatch | RobustBatch:
        """The start state for each of B episodes."""
        return filter_batch(self.model, batch)

    def step(
        self, rng: np.random.Generator, at: FilterBatch | RobustBatch, actions: Ints
    ) -> tuple[FilterBatch | RobustBatch, Ints, Floats]:
        """Filtered states, observations sampled from P(o | x, a), (B,), expected rewards, (B,)."""
        model, states = self.model, at.states
        chances = np.empty((len(states), len(model.observations)))
        for action in np.unique(actions).tolist():
            rows = actions == action
            chances[rows] = states[rows] @ model.emissions[action]
        if model.estimated:
            chances = clipped(chances)
        chances[chances <= model.rounding] = 0.0
        cumulative = np.cumsum(chances, axis=1)
        drawn = rng.random(len(states)) * cumulative[:, -1]
        # Never past the last possible observation, despite rounding of the product.
        possible = chances.shape[1] - 1 - (chances[:, ::-1] > 0).argmax(axis=1)
        seen = np.minimum((cumulative <= drawn[:, None]).sum(axis=1), possible)
        paid = np.einsum("bn,nb->b", states, model.rewards[:, actions])
        at.update(actions, seen)
        return at, seen, paid


def sampler(system: POMDP | LinearModel) -> HiddenStates | FilteredStates:
    """The object that samples episodes of a system: states of a POMDP, or of a linear model."""
    return HiddenStates(system) if isinstance(system, POMDP) else FilteredStates(system)


def ending_observations(system: POMDP | LinearModel) -> Bools:
    """Which observations end an episode, (O,).

    For a learned model, they are the observations that mark ends of tasks in its log.
    """
    if isinstance(system, POMDP):
        return final_observations(system)
    return np.array([name in system.final for name in system.observations], dtype=np.bool_)
