"""The float arithmetic of the core search: an orthonormal basis and a scale-free tolerance.

A rank in floats is a decision that needs a scale. Each outcome vector u(qz) has a magnitude m(qz),
by the same recursion started from the expected |reward| instead of the reward,

    m(zeta) = 1,    m(a)[s] = sum over outcomes of Pr(s',o|s,a) |R(s,a,s',o)|,
    m(aoqz) = D[a,o] m(qz),

so that |u| <= m and the rounding error of u is at most |q| + 1 times a few eps m, entry by entry:
m is what u would be without cancellation. The relative residual of a candidate is

    |u - Q Q^T u| / |m|,

which for a test (m = u) is the sine of its angle to the span. It does not change when u is scaled,
so that a test of probability 1e-12 counts like any other; and a vector that is only the rounding of
zero has a residual of eps, not of 1. Vectors are divided by |m| at every step, so that long tests
do not underflow.

A candidate is accepted if its relative residual exceeds the tolerance. An accepted direction of
residual d has an error of about eps/d, and smaller residuals of later vectors are indistinguishable
from it; at `TOLERANCE`, sqrt(eps), the two errors are equal. The margin (smallest accepted and
largest rejected residual) measures how clear the decision is: on an ill-conditioned model it
vanishes, and only `rpsr.predictive.rank.certify` can decide.

Most candidates lie in the span, and a screening finds them: with g standard normal, the product of
a candidate and (1 - Q Q^T) g is normal with the residual as its deviation. The candidate is
projected only if the root mean square of 16 such products exceeds a tenth of the tolerance; one
that should be accepted is missed with probability P(chi^2_16 < 0.16) = 4e-14. The largest in a
block is always projected, so that the margin is measured and not estimated. Blocks are projected at
once, twice where it matters ("twice is enough": W. Kahan and B. Parlett, in Parlett, The Symmetric
Eigenvalue Problem, 6.9), and then resolved in order. Coordinates are blocks of indistinguishable
states, weighted by the root of their size, which keeps lengths and angles.
"""

from __future__ import annotations

import numpy as np

from rpsr.io.records import Bools, Floats, Ints
from rpsr.models.pomdp import POMDP, Sparse
from rpsr.predictive.rank.quotient import Quotient

_PROBES = 16
_SUSPICION = 0.1  # of the tolerance
TOLERANCE = float(np.sqrt(np.finfo(np.float64).eps))


class FloatArithmetic:
    """Outcome vectors in floats and the orthonormal basis of their span.

    Blocks are (B, 2, n): outcome and magnitude in n weighted coordinates. `accepted` and
    `rejected` are the smallest accepted and largest rejected relative residuals so far.
    """

    def __init__(
        self,
        pomdp: POMDP,
        quotient: Quotient,
        rng: np.random.Generator,
        *,
        rewards: bool,
    ) -> None:
        n = quotient.size
        self._quotient = quotient
        self.shape = (len(pomdp.actions), len(pomdp.observations), n)
        self._operators, self._weights = weighted_operators(pomdp, quotient)
        base = np.ones((1, 2, n))
        if rewards:
            earned = np.stack([pomdp.R.T, reward_magnitudes(pomdp).T], axis=1)
            base = np.concatenate([base, earned[:, :, quotient.first]])
        self.base = _scaled(base * self._weights)
        self.accepted = np.inf
        self.rejected = 0.0
        self.rank = 0
        self._rows = np.zeros((n, n))
        self._probes = rng.standard_normal((_PROBES, n))

    @property
    def full(self) -> bool:
        """Whether the span is the whole space of vectors that are constant on blocks."""
        return self.rank == self.shape[2]

    @property
    def basis(self) -> Floats:
        """Q, (S, rank): an orthonormal basis of the span, over all states."""
        labels = self._quotient.labels
        return (self._rows[: self.rank] / self._weights).T[labels]

    def extend(self, vectors: Floats, first: int, last: int) -> Floats:
        """Operators a*O + o from `first` to before `last`, each times every vector in turn."""
        n, count = self.shape[2], len(vectors)
        stacked = self._operators[first * n : last * n] @ vectors.reshape(2 * count, n).T
        split = stacked.reshape(last - first, n, count, 2).transpose(0, 2, 3, 1)
        return _scaled(split.reshape(-1, 2, n))

    def outside(self, block: Floats) -> Bools:
        """(B,): which vectors have a residual above the tolerance."""
        is_outside = np.zeros(len(block), dtype=np.bool_)
        suspects = self._suspects(block[:, 0])
        is_outside[suspects] = self._above(_lengths(self._residuals(block[suspects, 0])))
        return is_outside

    def absorb(self, block: Floats) -> Bools:
        """(B,): which vectors were independent of all before them; they are added to the span."""
        taken = np.zeros(len(block), dtype=np.bool_)
        left = self._suspects(block[:, 0])
        residuals = self._residuals(block[left, 0])
        while True:
            kept = self._above(_lengths(residuals))
            left, residuals = left[kept], residuals[kept]
            if len(left) == 0 or self.full:
                return taken
            direction = self._residuals(residuals[:1])
            if self._above(_lengths(direction))[0]:
                self._accept(direction[0])
                taken[left[0]] = True
                newest = self._rows[self.rank - 1]
                residuals -= np.outer(residuals @ newest, newest)
            left, residuals = left[1:], residuals[1:]

    def _accept(self, direction: Floats) -> None:
        size = float(np.linalg.norm(direction))
        self.accepted = min(self.accepted, size)
        self._rows[self.rank] = direction / size
        self._probes -= np.outer(self._probes @ self._rows[self.rank], self._rows[self.rank])
        self.rank += 1

    def _suspects(self, vectors: Floats) -> Ints:
        """The positions of vectors whose residual may exceed the tolerance, and of the largest."""
        estimates = _lengths(vectors @ self._probes.T) / np.sqrt(_PROBES)
        suspicious = estimates > _SUSPICION * TOLERANCE
        if len(estimates) > 0:
            suspicious[np.argmax(estimates)] = True
        return np.flatnonzero(suspicious)

    def _residuals(self, vectors: Floats) -> Floats:
        basis = self._rows[: self.rank]
        return vectors - (vectors @ basis.T) @ basis

    def _above(self, sizes: Floats) -> Bools:
        above = sizes > TOLERANCE
        self.rejected = max(self.rejected, float(sizes[~above].max(initial=0.0)))
        return above


def weighted_operators(pomdp: POMDP, quotient: Quotient) -> tuple[Sparse, Floats]:
    """All D[a,o] between blocks, stacked, in coordinates that keep lengths; and the weights (n,).

    A vector v over states, constant on blocks, has the coordinates v * weights, one per block.
    """
    n = quotient.size
    weights = np.sqrt(np.bincount(quotient.labels, minlength=n))
    operators = quotient.operators(pomdp, pomdp.outcomes.probability)
    rows = np.repeat(np.arange(operators.shape[0]) % n, np.diff(operators.indptr))
    operators.data *= weights[rows] / weights[operators.indices]
    return operators, weights


def reward_magnitudes(pomdp: POMDP) -> Floats:
    """(S, A): the expected absolute reward, which is R(s, a) without cancellation."""
    outcomes, shape = pomdp.outcomes, (len(pomdp.states), len(pomdp.actions))
    cell = outcomes.state * shape[1] + outcomes.action
    summed = np.zeros(shape[0] * shape[1])
    np.add.at(summed, cell, outcomes.probability * np.abs(outcomes.reward))
    return summed.reshape(shape)


def _lengths(vectors: Floats) -> Floats:
    """(B,): Euclidean lengths of the rows of (B, n)."""
    return np.sqrt(np.einsum("bn,bn->b", vectors, vectors))


def _scaled(block: Floats) -> Floats:
    """Outcome and magnitude divided by the magnitude's length; zeros stay zeros."""
    sizes = _lengths(block[:, 1])
    sizes[sizes == 0] = 1.0
    return block / sizes[:, None, None]
