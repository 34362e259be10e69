"""The modular arithmetic of the core search: outcome vectors as residues, one per block of states.

Acceptance is certain: an accepted vector is independent modulo p, hence over the rationals. A
rejection is wrong with probability p^-2 at most (for the proof, see `residue_kernels`).
"""

from __future__ import annotations

import numpy as np

from rpsr import deadline
from rpsr.io.records import Bools, Ints
from rpsr.models.pomdp import Sparse
from rpsr.predictive.rank import residue_kernels
from rpsr.predictive.rank.modular import ModularPOMDP
from rpsr.predictive.rank.quotient import Quotient


class ModularArithmetic:
    """Vectors modulo a prime, operators on them, and the echelon basis of a span.

    operators: sparse (A*O*n, n), stacked as in `Quotient.operators`. base (k, n): the first vectors
    of a search. Blocks are (B, n) int64, C-contiguous. `tried` counts the vectors offered: each may
    be wrongly rejected with probability p^-2.
    """

    def __init__(
        self,
        operators: Sparse,
        base: Ints,
        shape: tuple[int, int, int],
        prime: int,
        rng: np.random.Generator,
    ) -> None:
        n = shape[2]
        self._prime = prime
        self._indptr = operators.indptr.astype(np.int64)
        self._indices = operators.indices.astype(np.int64)
        self._values = operators.data % prime
        self.shape = shape
        self.base = np.ascontiguousarray(base)
        self.rank = 0
        self.tried = 0
        self._rows = np.zeros((n, n), dtype=np.int64)
        self._pivots = np.zeros(n, dtype=np.int64)
        self._tests = rng.integers(prime, size=(2, n))

    @property
    def full(self) -> bool:
        """Whether the span is the whole space."""
        return self.rank == self.shape[2]

    def extend(self, vectors: Ints, first: int, last: int) -> Ints:
        """Operators a*O + o from `first` to before `last`, each times every vector in turn."""
        operators = self._indptr, self._indices, self._values
        return residue_kernels.products(*operators, vectors, first, last, self._prime)

    def outside(self, block: Ints) -> Bools:
        """(B,): which vectors are not in the span."""
        self.tried += len(block)
        return residue_kernels.outside(block, self._tests, self._prime)

    def absorb(self, block: Ints) -> Bools:
        """(B,): which vectors were independent of all before them; they are added to the span."""
        self.tried += len(block)
        taken = np.zeros(len(block), dtype=np.bool_)
        n = self.shape[2]
        work = 2 * n * min(n, self.rank + len(block))  # at most, for a vector that is accepted
        size = max(1, deadline.PIECE // max(1, work))
        for first in range(0, len(block), size):
            deadline.check()
            part = slice(first, first + size)
            basis = self._rows, self._pivots, self.rank
            taken[part] = residue_kernels.absorb(block[part], *basis, self._tests, self._prime)
            self.rank += int(taken[part].sum())
        return taken

    def reduced_basis(self) -> tuple[Ints, Ints]:
        """The reduced echelon basis of the span, (rank, n), and its pivots, ascending.

        It is determined by the span alone: each row is 1 at its pivot and 0 at the others.
        """
        rows, pivots = self._rows[: self.rank].copy(), self._pivots[: self.rank]
        for j in range(self.rank - 1, -1, -1):
            deadline.check()
            for i in np.flatnonzero(rows[:j, pivots[j]]).tolist():
                residue_kernels.subtract_multiple(rows[i], rows[i, pivots[j]], rows[j], self._prime)
        order = np.argsort(pivots)
        return rows[order], pivots[order]


def outcome_arithmetic(
    model: ModularPOMDP, quotient: Quotient, rng: np.random.Generator, *, rewards: bool
) -> ModularArithmetic:
    """Outcome vectors, one coordinate per block of states; with `rewards`, of intents too."""
    pomdp, n = model.pomdp, quotient.size
    ones = np.ones((1, n), dtype=np.int64)
    base = np.concatenate([ones, block_rewards(model, quotient)]) if rewards else ones
    return ModularArithmetic(
        quotient.operators(pomdp, model.probability),
        base,
        (len(pomdp.actions), len(pomdp.observations), n),
        model.prime,
        rng,
    )


def block_rewards(model: ModularPOMDP, quotient: Quotient) -> Ints:
    """(A, n): the rewards of each block's first state."""
    return np.ascontiguousarray(model.rewards[quotient.first].T)
