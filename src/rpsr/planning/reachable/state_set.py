"""A growing set of states with lookup by distance.

Rounding each coordinate and hashing the result separates neighbours that fall on two sides of a
rounding boundary. Here a state is hashed by one number, its product with a fixed random vector v of
unit 1-norm: two states within t of each other in every coordinate have products within t, so with
cells of width t one is in the cell of the other or in a neighbouring cell. States in these cells
are then compared in all coordinates.
"""

from __future__ import annotations

import numpy as np

from rpsr.io.records import Floats, Ints

CELL_BYTES = 200  # approximate: a key, a list and an index
BLOCK = 2**20  # numbers; larger tables grow by blocks, because copying all would take seconds


class StateTable:
    """States (n,) by index; `tolerance` is relative to `size`, that of the first by default."""

    def __init__(self, first: Floats, tolerance: float, size: float | None = None) -> None:
        direction = np.random.default_rng(0).standard_normal(len(first))
        self._direction = direction / np.abs(direction).sum()
        size = float(np.abs(first).max()) if size is None else size
        self._width = tolerance * max(size, float(np.finfo(float).tiny))
        self._cells: dict[int, list[int]] = {}
        self._block = max(
            16, BLOCK // len(first)
        )  # rows of every block, but a first one that is alone
        self._blocks = [np.empty((16, len(first)))]
        self._count = 0
        self.add(first)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, rows: int | Ints) -> Floats:
        """The states at an index, (n,), or at several, (B, n)."""
        if len(self._blocks) == 1:
            return self._blocks[0][rows]
        if isinstance(rows, int):
            return self._blocks[rows // self._block][rows % self._block]
        states = np.empty((len(rows), len(self._direction)))
        which, where = np.divmod(rows, self._block)
        for block in np.unique(which).tolist():
            states[which == block] = self._blocks[block][where[which == block]]
        return states

    @property
    def nbytes(self) -> int:
        """Bytes of the rows and, approximately, of the cells."""
        return sum(block.nbytes for block in self._blocks) + CELL_BYTES * self._count

    def find(self, state: Floats) -> int:
        """The index of the nearest state within the tolerance, or -1."""
        cell = self._cell(state)
        near = [i for c in (cell - 1, cell, cell + 1) for i in self._cells.get(c, ())]
        if not near:
            return -1
        distances = np.abs(self[np.array(near)] - state).max(axis=1)
        best = int(distances.argmin())
        return near[best] if distances[best] <= self._width else -1

    def add(self, state: Floats) -> int:
        """Add a state, even if it is present already; returns its index."""
        index, newest = self._count, self._blocks[-1]
        if index == (len(self._blocks) - 1) * self._block + len(newest):
            if len(newest) < self._block:  # the only one yet
                grown = np.empty((min(2 * len(newest), self._block), len(state)))
                grown[: len(newest)] = newest
                self._blocks[-1] = grown
            else:
                self._blocks.append(np.empty_like(newest))
        self[index][:] = state
        self._cells.setdefault(self._cell(state), []).append(index)
        self._count += 1
        return index

    def _cell(self, state: Floats) -> int:
        return int(np.floor(float(state @ self._direction) / self._width))
