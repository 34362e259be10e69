"""RockSample as a generative simulator, for maps whose states are too many to list."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np

from rpsr.domains.chances import Number, at_least, probability
from rpsr.domains.rocks import Cell, sensor_map
from rpsr.io.records import Bools, Floats, Ints

LARGEST_TABLE = 2**22  # numbers


class RockSampleSimulator:
    """The rules of `rpsr.domains.rock_sample`, sampled for B rovers at once.

    A state is a row (east, north, rocks), where bit i of `rocks` says whether rock i is good. The
    lower bound is the value of a tour of probably good rocks. The upper bound is the optimal value
    with observed rocks or, if its table is too large, every reward at the earliest possible step.

    n, k, rocks, half_distance, discount: as in `rock_sample`.
    """

    batched = True

    def __init__(
        self,
        *,
        n: int = 11,
        k: int = 11,
        rocks: Sequence[Cell] | None = None,
        half_distance: Number | None = None,
        discount: Number = Fraction(19, 20),
    ) -> None:
        size = at_least("n", n, 1, "the rover needs a cell")
        count = at_least("k", k, 1, "the rover needs a rock to sample")
        self.n, self.k = size, count
        self.discount = float(probability("discount", discount))
        self.rocks, accuracy = sensor_map(size, count, rocks, half_distance)
        checks = [f"check{i}" for i in range(count)]
        self.actions = ("north", "east", "south", "west", *checks, "sample")
        self.observations = ("good", "bad")
        ground = [(east, north) for east in range(size) for north in range(size)]
        self.accuracy: Floats = np.array(
            [[float(accuracy[cell, i]) for i in range(count)] for cell in ground]
        )
        self.rock_at: Ints = np.full(size * size, -1)
        for i, (east, north) in enumerate(self.rocks):
            self.rock_at[east * size + north] = i
        places, cells = np.array(self.rocks), np.array(ground)
        away = np.abs(cells[:, None] - places).sum(axis=2)  # steps to each rock, (cells, k)
        self._leaving: Floats = 10 * self.discount ** (size - 1 - cells[:, 0])
        self._sampling: Floats = 10 * self.discount**away
        self._steps, self._exits = away.tolist(), self._leaving.tolist()
        self._places = self._cells(places).tolist()
        self._powers = [self.discount**i for i in range(2 * size)]
        self._bits: Ints = 1 << np.arange(count)

    def _cells(self, states: Ints) -> Ints:
        return states[:, 0] * self.n + states[:, 1]

    def start(self, rng: np.random.Generator, count: int) -> Ints:
        """Rovers at the middle of the western edge, with random rocks, (B, 3)."""
        states = np.zeros((count, 3), dtype=np.int64)
        states[:, 1] = self.n // 2
        states[:, 2] = rng.integers(1 << self.k, size=count)
        return states

    def step(
        self, states: Ints, action: int, rng: np.random.Generator
    ) -> tuple[Ints, Ints, Floats, Bools]:
        """Next states (B, 3), observations, rewards, and whether rovers are gone, (B,)."""
        count = len(states)
        seen, rewards = np.zeros(count, dtype=np.int64), np.zeros(count)
        done = np.zeros(count, dtype=np.bool_)
        if 4 <= action < 4 + self.k:
            rock = action - 4
            right = rng.random(count) < self.accuracy[self._cells(states), rock]
            seen[right != (states[:, 2] >> rock & 1)] = 1
            return states, seen, rewards, done
        after = states.copy()
        if action < 4:
            after[:, 1 - action % 2] += (1, 1, -1, -1)[action]
            moved = after[:, 1 - action % 2]
            done = (moved < 0) | (moved >= self.n)
            rewards[done] = 10.0 if action == 1 else -100.0
            return after, seen, rewards, done
        rock = self.rock_at[self._cells(states)]
        done = rock < 0
        mask = np.where(done, 0, 1 << np.maximum(rock, 0))
        rewards = np.where(done, -100.0, np.where(states[:, 2] & mask, 10.0, -10.0))
        after[:, 2] &= ~mask
        return after, seen, rewards, done

    def upper(self, states: Ints) -> Floats:
        """The optimal values if the rocks are observed, (B,), or a bound on them."""
        cells = self._cells(states)
        if self.n**2 << self.k <= LARGEST_TABLE:
            return self._observed[cells, states[:, 2]]
        good = (states[:, 2:] & self._bits) != 0
        return self._leaving[cells] + (good * self._sampling[cells]).sum(axis=1)

    @cached_property
    def _observed(self) -> Floats:
        """The optimal values with observed rocks by cell and rocks, (n * n, 2^k).

        By sweeps from below until none changes a value: steps are certain, so there are few.
        """
        n, masks, raised = self.n, np.arange(1 << self.k), True
        values = np.repeat(self._leaving[:, None], len(masks), axis=1)
        grid = values.reshape(n, n, -1)  # a view
        while raised:
            before = values.copy()
            for here, there in ((slice(n - 1), slice(1, n)), (slice(1, n), slice(n - 1))):
                grid[here] = np.maximum(grid[here], self.discount * grid[there])
                grid[:, here] = np.maximum(grid[:, here], self.discount * grid[:, there])
            for rock, cell in enumerate(self._places):
                good = masks[masks >> rock & 1 == 1]
                sampled = 10 + self.discount * values[cell, good - (1 << rock)]
                values[cell, good] = np.maximum(values[cell, good], sampled)
            raised = bool((values > before).any())
        return values

    def lower(self, states: Ints) -> float:
        """The mean value of a tour of the rocks that are probably good in these states.

        From rock to rock, the nearest first, as many as pay, then off the eastern edge. The rovers
        of one belief are on one cell.
        """
        cell = int(states[0, 0]) * self.n + int(states[0, 1])
        chances = ((states[:, 2:] & self._bits) != 0).mean(axis=0).tolist()
        left = [rock for rock, chance in enumerate(chances) if chance > 0.5]
        factor, paid, best = 1.0, 0.0, self._exits[cell]
        while left:
            steps = self._steps[cell]
            rock = min(left, key=steps.__getitem__)
            left.remove(rock)
            factor *= self._powers[steps[rock]]
            paid += factor * 10 * (2 * chances[rock] - 1)
            factor *= self.discount
            cell = self._places[rock]
            best = max(best, paid + factor * self._exits[cell])
        return best
