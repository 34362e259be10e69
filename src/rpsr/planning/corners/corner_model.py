"""A linear model at its corners: the form used by exact planning.

A value function on the hull of corners c_1 .. c_k is given by its vectors' values at the corners,
u(s) = c_s . alpha. Corners move to corners, C M[a,o] = K[a,o] C with K >= 0, hence a backup is

    u(s) = r(s, a) + discount * sum_o sum_s' K[a,o](s, s') u_o(s')

and no coordinates of the model appear. For a belief model the corners are the states; for a PSR or
an R-PSR they are the states of its POMDP, with indistinguishable states merged.
So an R-PSR prunes exactly what its POMDP prunes. `lift` converts to the model's coordinates by
least squares, which is exact on the domain.

Rounding. The error of one backup, or one mixture of vectors, at a corner is at most
`rounding(scale)`, where scale bounds the absolute values of the vectors and, for a backup, its
reward or its result. This is the lemma on backups of `rpsr.models.rounding`, for the model that is
meant: probabilities before they were rounded, or rows divided by their sums. It also includes the
shift of values by merging corners that differ by d, at most d |alpha|, and the known errors of the
model: of its expected rewards at a corner, and of its points as corners.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.optimize import nnls

from rpsr.errors import ModelError
from rpsr.io.records import Floats, Ints, Record
from rpsr.models.domain import Corners
from rpsr.models.linear import LinearModel
from rpsr.models.operators import entries_of
from rpsr.models.rounding import one_backup, products
from rpsr.planning.corners.merging import largest_coordinate, merge_corners
from rpsr.planning.corners.moves import Moves
from rpsr.planning.value.value_function import ValueFunction


@dataclass(frozen=True, eq=False)
class CornerProcess:
    """A model with k corners, A actions and O observations, as flat arrays for the kernels.

    rewards (A, k). The moves of action a from corner s are the entries indptr[a * k + s] and on:
    observation, target and chance (probability times discount), ordered by observation.
    start (k,): the model's start as a mixture of corners, exact for beliefs and otherwise up to
    rounding. discount: an upper bound on every row's sum of chances, in memory and as meant.
    corner_of (all corners,): the merged corner, of k, that each corner of the model belongs to.
    merged, displaced: the largest shifts of a value by merging corners, and by writing the start as
    a mixture of them, for values up to 1.
    """

    model: LinearModel
    observations: int
    rewards: Floats
    indptr: Ints
    observation: Ints
    target: Ints
    chance: Floats
    start: Floats
    discount: float
    corner_of: Ints
    merged: float
    displaced: float

    @property
    def k(self) -> int:
        """The number of corners."""
        return self.rewards.shape[1]

    @cached_property
    def largest_reward(self) -> float:
        """The largest absolute reward."""
        return float(np.abs(self.rewards).max())

    @cached_property
    def moves(self) -> Moves:
        """The arrays for the kernels."""
        return Moves(self.indptr, self.observation, self.target, self.chance, self.rewards)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        arrays = (self.rewards, self.indptr, self.observation, self.target, self.chance, self.start)
        return sum(array.nbytes for array in arrays)

    @property
    def record(self) -> Record | None:
        """The plain data of the POMDP whose states are the corners before merging, or None."""
        domain = self.model.domain
        known = domain.record if isinstance(domain, Corners) else self.model.record
        if known is None:
            return None
        same = (known.actions, known.observations) == (self.model.actions, self.model.observations)
        return known if same else None  # names may have been put into another order

    @property
    def ahead(self) -> float:
        """1 / (1 - discount): the factor by which an error per step accumulates."""
        if self.discount >= 1:  # rows may sum to a little more than one
            raise ModelError(
                f"{self.model.name}: discount {self.model.discount!r} is 1, or too close to 1 for "
                "floats: give a smaller discount, or a finite horizon with planner vi or reachable"
            )
        return 1 / (1 - self.discount)

    def lift(self, values: Floats) -> Floats:
        """Vectors in the model's coordinates from values at the corners, (K, k) -> (K, n)."""
        return self.model.domain.from_corners(values[:, self.corner_of])

    def lifted(self, values: ValueFunction) -> ValueFunction:
        """A value function at the corners as one in the model's coordinates."""
        return replace(values, vectors=self.lift(values.vectors))

    def at_corners(self, vectors: Floats) -> Floats:
        """Values at the corners of vectors in the model's coordinates, (K, n) -> (K, k)."""
        points = self.model.domain.points
        if points is None:
            return vectors.copy()
        first = np.unique(self.corner_of, return_index=True)[1]
        return vectors @ points[first].T

    def rounding(self, scale: float) -> float:
        """The largest error of a backup or mixture at a corner, for values up to `scale`."""
        return (self._unit + self.merged) * scale + self.model.reward_error

    @cached_property
    def _unit(self) -> float:
        """The same for values up to 1, of rounding alone."""
        most = int(np.diff(self.indptr).max(initial=0))
        return one_backup(most, len(self.corner_of), self.observations, self.k)

    def value_at_start(self, values: Floats) -> tuple[float, float]:
        """The best vector's value at the model's start, and its largest error.

        values (K, k). Vectors in coordinates and their values at the corners differ by rounding;
        the start is a mixture of corners, so its error is at most that of the worst corner.
        """
        return self.vectors_at_start(self.lift(values), values)

    def vectors_at_start(self, vectors: Floats, values: Floats) -> tuple[float, float]:
        """The same for vectors (K, n) with (approximately) the values (K, k) at the corners."""
        start, points, off = self.model.start, self.model.domain.points, 0.0
        if points is not None:
            off = float(np.abs(vectors @ points.T - values[:, self.corner_of]).max())
            off += products(len(start)) * float((np.abs(vectors) @ np.abs(points).T).max())
        off += products(len(start)) * float((np.abs(vectors) @ np.abs(start)).max())
        off += self.displaced * float(np.abs(values).max())
        return float((vectors @ start).max()), off


def corner_process(model: LinearModel) -> CornerProcess:
    """The model at its corners; a `ModelError` if its domain is unknown."""
    if not model.domain.known:
        raise ModelError(
            f"{model.name}: the valid states of this {model.kind} model are unknown, and this "
            "planner needs them to prove bounds: use pbvi, perseus or q-learning"
        )
    points = model.domain.points
    n_actions, n_observations, _ = model.operators.shape
    rewards = model.domain.at_corners(model.rewards)
    growth = 1.0
    if points is None:
        corner_of, apart = np.arange(len(rewards)), 0.0
    else:
        corner_of, apart = merge_corners(points)
        growth = largest_coordinate(points)
        apart += 0.0 if apart == 0 else 2 * model.domain.error
    first = np.unique(corner_of, return_index=True)[1]
    k = len(first)
    discount = 1.0 if model.discount is None else model.discount
    entries = entries_of(model.corner_kernel)
    of = np.full(len(corner_of), -1)  # the merged corner of a row, or -1
    of[first] = np.arange(k)
    kept = of[entries.row] >= 0
    row = entries.action[kept] * k + of[entries.row[kept]]
    observation, target = entries.observation[kept], corner_of[entries.column[kept]]
    key = (row * n_observations + observation) * k + target
    order = np.argsort(key, kind="stable")
    begins = np.flatnonzero(np.diff(key[order], prepend=-1))
    unique = key[order[begins]]
    # Sums merged targets.
    chance = np.add.reduceat(discount * entries.value[kept][order], begins)
    keep = chance > 0
    unique, chance = unique[keep], chance[keep]
    row, observation, target = (
        unique // (n_observations * k),
        unique // k % n_observations,
        unique % k,
    )
    indptr = np.searchsorted(row, np.arange(n_actions * k + 1))
    start, displaced = _start(model, points, corner_of, k)
    sums = summed(row, chance, n_actions * k)
    return CornerProcess(
        model=model,
        observations=n_observations,
        rewards=np.ascontiguousarray(rewards[first].T),
        indptr=indptr.astype(np.int64),
        observation=observation.astype(np.int64),
        target=target.astype(np.int64),
        chance=chance,
        start=start,
        discount=max(discount, float(sums.max()) * (1 + products(int(np.diff(indptr).max())))),
        corner_of=corner_of,
        merged=apart * growth,
        displaced=displaced * growth,
    )


def _start(
    model: LinearModel, points: Floats | None, corner_of: Ints, k: int
) -> tuple[Floats, float]:
    """The start as a mixture of corners, and the distance between the two."""
    if points is None:
        mixture = model.start / model.start.sum()
        return mixture, float(np.abs(mixture - model.start).sum())
    weights = model.domain.start
    if weights is None:
        weights = nnls(points.T, model.start, maxiter=30 * len(points))[0]
    weights = weights / weights.sum()
    apart = float(np.abs(weights @ points - model.start).sum())
    # The error of the start, which was summed at the corners.
    apart += products(int(np.count_nonzero(weights))) * float((weights @ np.abs(points)).sum())
    return summed(corner_of, weights, k), apart + 2 * model.domain.error


def summed(where: Ints, numbers: Floats, size: int) -> Floats:
    """Sums of numbers by index, (size,)."""
    return np.asarray(np.bincount(where, numbers, minlength=size), dtype=np.float64)
