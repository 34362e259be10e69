"""The operators M[a, o] of a linear model, used through two products: x M and M v.

States are row vectors and values are column vectors, so a filter uses `left` and a backup uses
`right`; both take batches, one vector per row of the argument. The operators are dense, sparse, or
a sparse process in a basis, Q^T D[a, o] Q, which is never multiplied out: for a model of a thousand
states the dense operators would take a gigabyte.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from rpsr.errors import InputError
from rpsr.io.records import Floats, Ints, frozen

Sparse = Any  # scipy.sparse.csr_array of float64; its stubs say more than they can prove
Process = Sequence[Sequence[Sparse]]  # D[a][o], (S, S)
MOST_BLOCKS = 2**14  # matrices built in advance; a process with more builds each on request
MOST_POINTERS = 2**24  # row pointers of such matrices, where they outnumber the nonzeros
_TURNED = 2**12  # transposes that are kept


def own(numbers: Any, what: str) -> Floats:
    """Finite numbers as a read-only array; a copy, unless it is read-only already."""
    try:
        array = np.asarray(numbers, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what}: expected an array of numbers") from None
    if not np.isfinite(array).all():
        at = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise InputError(f"{what}: entry {at} is {array[at]}, expected a finite number")
    return frozen(array.copy() if array.flags.writeable else array)


def read_only(matrix: Sparse) -> Sparse:
    """The CSR matrix itself, its arrays made read-only."""
    for part in (matrix.data, matrix.indices, matrix.indptr):
        part.setflags(write=False)
    return matrix


def _own_sparse(matrix: Any) -> Sparse:
    """A matrix as read-only CSR; a copy, unless it is read-only already."""
    block: Sparse = sp.csr_array(matrix, dtype=np.float64)
    return block if not block.data.flags.writeable else read_only(block.copy())


@dataclass(frozen=True, eq=False)
class Entries:
    """The nonzeros of a process, parallel arrays (E,), by action, observation, row and column."""

    action: Ints
    observation: Ints
    row: Ints
    column: Ints
    value: Floats


class StackedProcess(Sequence[Sequence[Sparse]]):
    """D[a][o] as one table of nonzeros; a matrix is built on request.

    With a million observations there would be millions of matrices, most of them empty: building
    them all takes minutes, and few are ever used.
    """

    def __init__(self, entries: Entries, shape: tuple[int, int, int]) -> None:
        self.entries, self.shape = entries, shape
        cell = entries.action * shape[1] + entries.observation
        self._ends = np.searchsorted(cell, np.arange(shape[0] * shape[1] + 1))
        for part in vars(entries).values():
            part.setflags(write=False)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, action: Any) -> Any:
        if not -len(self) <= action < len(self):
            raise IndexError(action)
        return _StackedRow(self, action % len(self))

    def block(self, action: int, observation: int) -> Sparse:
        """D[a][o], sparse (n, n)."""
        _, n_observations, n = self.shape
        cell = action * n_observations + observation
        part = slice(int(self._ends[cell]), int(self._ends[cell + 1]))
        indptr = np.searchsorted(self.entries.row[part], np.arange(n + 1))
        parts = (self.entries.value[part], self.entries.column[part], indptr)
        return read_only(sp.csr_array(parts, shape=(n, n)))


class _StackedRow(Sequence[Sparse]):
    """The matrices of one action."""

    def __init__(self, stacked: StackedProcess, action: int) -> None:
        self._stacked, self._action = stacked, action

    def __len__(self) -> int:
        return self._stacked.shape[1]

    def __getitem__(self, observation: Any) -> Any:
        if not -len(self) <= observation < len(self):
            raise IndexError(observation)
        return self._stacked.block(self._action, observation % len(self))


def entries_of(process: Process) -> Entries:
    """The nonzeros of a process."""
    if isinstance(process, StackedProcess):
        return process.entries
    columns: list[list[Any]] = [[], [], [], [], []]
    for a, blocks in enumerate(process):
        for o, block in enumerate(blocks):
            row = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
            cell = (np.full(len(row), a), np.full(len(row), o), row, block.indices, block.data)
            for column, part in zip(columns, cell, strict=True):
                column.append(part)
    action, observation, row, column, value = (np.concatenate(column) for column in columns)
    return Entries(action, observation, row, column.astype(np.int64), value)


def square_process(process: Any, what: str) -> Process:
    """D[a][o] as CSR matrices of one size, equally many per action, or an `InputError`."""
    if isinstance(process, StackedProcess):
        return process
    blocks: Process = tuple(tuple(_own_sparse(matrix) for matrix in row) for row in process)
    if not blocks or not blocks[0] or len({len(row) for row in blocks}) > 1:
        raise InputError(f"{what}: expected a matrix for every action and observation")
    for a, row in enumerate(blocks):
        for o, matrix in enumerate(row):
            if not np.isfinite(matrix.data).all():
                place = f"action {a}, observation {o}"
                raise InputError(f"{what}: {place}: expected finite numbers only")
    shapes = sorted({matrix.shape for row in blocks for matrix in row})
    if len(shapes) > 1 or shapes[0][0] != shapes[0][1]:
        raise InputError(
            f"{what}: read matrices of shape {shapes}, expected one shape (n, n) for all"
        )
    return blocks


class Operators(ABC):
    """A times O linear maps on R^n. Implement `shape`, `left` and `right`."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int, int]:
        """(A, O, n)."""

    @abstractmethod
    def left(self, x: Floats, action: int, observation: int) -> Floats:
        """x M[a, o] for a batch of row vectors, (B, n) -> (B, n)."""

    @abstractmethod
    def right(self, v: Floats, action: int, observation: int) -> Floats:
        """M[a, o] v for a batch of column vectors held as rows, (K, n) -> (K, n)."""

    def matrix(self, action: int, observation: int) -> Floats:
        """M[a, o] as a dense (n, n) array: for reading, not for computing with large models."""
        return self.left(np.eye(self.shape[2]), action, observation)

    def mixed(self, weights: Floats) -> Floats:
        """The mean transition for action probabilities w (A,): sum_a,o w[a] M[a, o], (n, n)."""
        n_actions, n_observations, n = self.shape
        moves = np.zeros((n, n))
        for a, o in np.ndindex(n_actions, n_observations):
            if weights[a] > 0:
                moves += weights[a] * self.matrix(a, o)
        return moves

    def emissions(self, normalizer: Floats) -> Floats:
        """M[a, o] e for every action and observation, (n,) -> (A, n, O)."""
        n_actions, n_observations, n = self.shape
        table = np.empty((n_actions, n, n_observations))
        for a, o in np.ndindex(n_actions, n_observations):
            table[a, :, o] = self.right(normalizer[None], a, o)[0]
        return table

    def as_process(self) -> Process:
        """The maps as sparse matrices, one for each action and observation."""
        n_actions, n_observations, _ = self.shape
        return tuple(
            tuple(sp.csr_array(self.matrix(a, o)) for o in range(n_observations))
            for a in range(n_actions)
        )

    def norm(self, action: int, observation: int) -> float:
        """A bound on the norm of M[a, o], zero for the zero operator."""
        return float(np.linalg.norm(self.matrix(action, observation)))


@dataclass(frozen=True, eq=False)
class DenseOperators(Operators):
    """Operators as one dense array of matrices, (A, O, n, n)."""

    matrices: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrices", own(self.matrices, "operators"))
        if self.matrices.ndim != 4 or self.matrices.shape[2] != self.matrices.shape[3]:
            raise InputError(f"operators: read shape {self.matrices.shape}, expected (A, O, n, n)")

    @property
    def shape(self) -> tuple[int, int, int]:
        """(A, O, n)."""
        actions, observations, n, _ = self.matrices.shape
        return actions, observations, n

    def left(self, x: Floats, action: int, observation: int) -> Floats:
        """x M[a, o], (B, n) -> (B, n)."""
        return x @ self.matrices[action, observation]

    def right(self, v: Floats, action: int, observation: int) -> Floats:
        """M[a, o] v for a batch of column vectors held as rows, (K, n) -> (K, n)."""
        return v @ self.matrices[action, observation].T


@dataclass(frozen=True, eq=False)
class SparseOperators(Operators):
    """Operators as sparse matrices (n, n): process[a][o]."""

    process: Process

    def __post_init__(self) -> None:
        object.__setattr__(self, "process", square_process(self.process, "operators"))

    @property
    def shape(self) -> tuple[int, int, int]:
        """(A, O, n)."""
        return len(self.process), len(self.process[0]), int(self.process[0][0].shape[0])

    def left(self, x: Floats, action: int, observation: int) -> Floats:
        """x M[a, o], (B, n) -> (B, n)."""
        key = (action, observation)
        turned = self._turned.get(key)
        if turned is None:
            turned = self.process[action][observation].T
            if len(self._turned) < _TURNED:
                self._turned[key] = turned
        return np.asarray((turned @ x.T).T)

    @cached_property
    def _turned(self) -> dict[tuple[int, int], Sparse]:
        """Transposes, in the memory of the matrices: making one takes longer than using it."""
        return {}

    def right(self, v: Floats, action: int, observation: int) -> Floats:
        """M[a, o] v for a batch of column vectors held as rows, (K, n) -> (K, n)."""
        return np.ascontiguousarray((self.process[action][observation] @ v.T).T)

    def as_process(self) -> Process:
        """The matrices themselves."""
        return self.process

    def emissions(self, normalizer: Floats) -> Floats:
        """M[a, o] e for every action and observation, (n,) -> (A, n, O)."""
        if not isinstance(self.process, StackedProcess):
            return super().emissions(normalizer)
        (n_actions, n_observations, n), entries = self.shape, self.process.entries
        cell = (entries.action * n + entries.row) * n_observations + entries.observation
        weights = entries.value * normalizer[entries.column]
        size = n_actions * n * n_observations
        table = np.asarray(np.bincount(cell, weights, size), dtype=np.float64)
        return table.reshape(n_actions, n, n_observations)

    @cached_property
    def _by_outcome(self) -> list[Sparse]:
        """For each action, x -> x M[a, o] for all observations, sparse (O n, n)."""
        return [sp.csr_array(sp.hstack(list(row), format="csr")).T for row in self.process]

    def outcomes(self, x: Floats, action: int) -> Floats:
        """x M[a, o] for all observations, (n,) -> (O, n), in one product."""
        return np.asarray(self._by_outcome[action] @ x).reshape(self.shape[1:])

    @cached_property
    def _by_row(self) -> tuple[Entries, Ints]:
        """The nonzeros by action and row, and where those of row a * n + i begin, (A n + 1,)."""
        (n_actions, _, n), entries = self.shape, entries_of(self.process)
        row = entries.action * n + entries.row
        order = np.argsort(row, kind="stable")
        parts = {name: part[order] for name, part in vars(entries).items()}
        return Entries(**parts), np.searchsorted(row[order], np.arange(n_actions * n + 1))

    def successors(self, x: Floats, action: int) -> tuple[Ints, Sparse]:
        """The nonzero x M[a, o] of all observations, for a batch (B, n) with many zeros.

        Returns b * O + o, (N,), for the N products that are stored, and the products, sparse
        (N, n). The work does not depend on the number of impossible observations.
        """
        (entries, first), (_, n_observations, n) = self._by_row, self.shape
        batch, state = np.nonzero(x)
        begin = first[action * n + state]
        count = first[action * n + state + 1] - begin
        pair = np.repeat(np.arange(len(batch)), count)
        at = np.arange(len(pair)) - np.repeat(np.cumsum(count) - count, count) + begin[pair]
        outcome = batch[pair] * n_observations + entries.observation[at]
        kinds, row = np.unique(outcome, return_inverse=True)
        values = x[batch, state][pair] * entries.value[at]
        shape = (len(kinds), n)
        return kinds, sp.csr_array((values, (row.reshape(-1), entries.column[at])), shape=shape)

    def norm(self, action: int, observation: int) -> float:
        """The Frobenius norm, from the stored entries."""
        return float(np.linalg.norm(self.process[action][observation].data))


@dataclass(frozen=True, eq=False)
class FactoredOperators(Operators):
    """Q^T D[a, o] Q for an orthonormal basis Q (S, n) and a sparse process D."""

    basis: Floats
    process: Process

    def __post_init__(self) -> None:
        object.__setattr__(self, "basis", own(self.basis, "basis"))
        object.__setattr__(self, "process", square_process(self.process, "operators"))
        n_states = self.process[0][0].shape[0]
        if self.basis.ndim != 2 or len(self.basis) != n_states:
            raise InputError(f"basis: read shape {self.basis.shape}, expected ({n_states}, n)")

    @property
    def shape(self) -> tuple[int, int, int]:
        """(A, O, n)."""
        return len(self.process), len(self.process[0]), self.basis.shape[1]

    def left(self, x: Floats, action: int, observation: int) -> Floats:
        """x Q^T D[a, o] Q, (B, n) -> (B, n)."""
        return (x @ self.basis.T @ self.process[action][observation]) @ self.basis

    def right(self, v: Floats, action: int, observation: int) -> Floats:
        """Q^T D[a, o] Q v, (K, n) -> (K, n)."""
        return (self.process[action][observation] @ (self.basis @ v.T)).T @ self.basis

    def norm(self, action: int, observation: int) -> float:
        """The Frobenius norm of D[a, o], an upper bound because Q is orthonormal."""
        return float(np.linalg.norm(self.process[action][observation].data))


def sparse_process(blocks: list[tuple[Floats, Any, Any]], shape: tuple[int, int, int]) -> Process:
    """D[a][o] from flat (data, indices, indptr) triples, action by action."""
    actions, observations, n = shape
    matrices = [sp.csr_array(block, shape=(n, n)) for block in blocks]
    for matrix in matrices:
        matrix.check_format(full_check=True)  # an index out of range would read foreign memory
    return tuple(tuple(matrices[a * observations : (a + 1) * observations]) for a in range(actions))
