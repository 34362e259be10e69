"""The domain of a linear model: the set of its valid states.

Domination, residuals and upper bounds are claims about every valid state, so a planner must know
this set: all beliefs, the convex hull of known corners, or unknown. The three classes have the same
interface: `known`, `beliefs` (whether states are probability vectors), `dimension`, `corners`,
`size` (how many corners), `at_corners`, `from_corners`, `distance`, `error`. A domain whose corners
are points of its own has `points`, their `kernel` and perhaps `start`; in others these are None.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.optimize import linprog

from rpsr.errors import InputError, ModelError
from rpsr.io.records import Floats, Record
from rpsr.models.operators import Process, own, square_process

NO_CORNERS = "the valid states of this model are unknown, so it has no corners"


@dataclass(frozen=True)
class Simplex:
    """Probability vectors of length n; its corners are the unit vectors."""

    n: int
    known: ClassVar[bool] = True
    beliefs: ClassVar[bool] = True
    error: ClassVar[float] = 0.0
    points: ClassVar[None] = None
    kernel: ClassVar[None] = None
    start: ClassVar[None] = None

    @property
    def dimension(self) -> int:
        """The number n of coordinates."""
        return self.n

    @property
    def corners(self) -> Floats:
        """The unit vectors, (n, n)."""
        return np.eye(self.n)

    @property
    def size(self) -> int:
        """How many corners."""
        return self.n

    def at_corners(self, columns: Floats) -> Floats:
        """Linear functions of the state, (n, m), at the corners, (n, m)."""
        return columns

    def from_corners(self, values: Floats) -> Floats:
        """Linear functions of the state, (m, n), with given values at the corners, (m, n)."""
        return values.copy()

    def distance(self, x: Floats) -> float:
        """The distance of x (n,) from the simplex: its largest violation, 0 inside."""
        # numpy's maximum, not Python's, so that NaN counts as outside.
        return float(np.max([0.0, -x.min(), abs(x.sum() - 1.0)]))


@dataclass(frozen=True, eq=False)
class Corners:
    """The convex hull of points (k, n).

    kernel[a][o], sparse (k, k) and non-negative, expresses moved corners as mixtures of corners:
    points M[a, o] = kernel[a][o] points.
    start (k,): weights of the points whose mixture is the model's start, if known.
    error: the distance of a point from its exact corner, in the 1-norm: a bound, or an estimate for
    a basis that was found in floats.
    record: the plain data of the POMDP whose states the points are, or None; not stored in files.
    """

    points: Floats
    kernel: Process
    start: Floats | None = None
    error: float = 0.0
    record: Record | None = field(default=None, repr=False)
    known: ClassVar[bool] = True
    beliefs: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", own(self.points, "points"))
        object.__setattr__(self, "kernel", square_process(self.kernel, "kernel"))
        k = self.kernel[0][0].shape[0]
        if self.points.ndim != 2 or len(self.points) != k:
            raise InputError(f"points: read shape {self.points.shape}, expected ({k}, n)")
        if self.start is not None:
            object.__setattr__(self, "start", own(self.start, "start"))
            if self.start.shape != (k,):
                raise InputError(f"start: read shape {self.start.shape}, expected ({k},)")
        if not 0 <= self.error < np.inf:
            raise InputError(
                f"the error of the points: read {self.error}, expected a finite number from 0"
            )

    @property
    def dimension(self) -> int:
        """The number n of coordinates."""
        return self.points.shape[1]

    @property
    def corners(self) -> Floats:
        """The points, (k, n)."""
        return self.points

    @property
    def size(self) -> int:
        """How many corners."""
        return len(self.points)

    def at_corners(self, columns: Floats) -> Floats:
        """Linear functions of the state, (n, m), at the corners, (k, m)."""
        return self.points @ columns

    def from_corners(self, values: Floats) -> Floats:
        """Linear functions of the state, (m, n), with values nearest to those given, (m, k).

        By least squares, which is exact for values that a linear function has.
        """
        functions = np.linalg.lstsq(self.points, values.T, rcond=None)[0].T
        return np.array(functions, dtype=np.float64)

    def distance(self, x: Floats) -> float:
        """The distance of x (n,) from the hull in the largest coordinate, or slightly more.

        A linear program finds the nearest mixture of corners. The result is the distance of that
        mixture, not the program's objective, which its tolerances allow to be too small.
        """
        if not np.isfinite(x).all():
            return float("inf")
        k, n = self.points.shape
        offsets, ones = (self.points - x).T, np.ones((n, 1))
        result = linprog(
            np.append(np.zeros(k), 1.0),  # weights of the corners, then the distance
            A_ub=np.vstack([np.hstack([offsets, -ones]), np.hstack([-offsets, -ones])]),
            b_ub=np.zeros(2 * n),
            A_eq=np.append(np.ones(k), 0.0)[None],
            b_eq=[1.0],
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if result.x is None:
            return float("inf")
        weights = np.maximum(result.x[:k], 0.0)
        return float(np.abs(offsets @ (weights / weights.sum())).max())


@dataclass(frozen=True)
class Unknown:
    """An unknown domain: certified upper bounds and exact pruning refuse such a model."""

    known: ClassVar[bool] = False
    beliefs: ClassVar[bool] = False
    error: ClassVar[float] = 0.0
    dimension: ClassVar[None] = None
    points: ClassVar[None] = None
    kernel: ClassVar[None] = None
    start: ClassVar[None] = None

    @property
    def corners(self) -> Floats:
        """Raises a `ModelError`."""
        raise ModelError(NO_CORNERS)

    @property
    def size(self) -> int:
        """Raises a `ModelError`: the number is unknown."""
        raise ModelError(NO_CORNERS)

    def at_corners(self, columns: Floats) -> Floats:
        """Raises a `ModelError`: the domain has no known corners."""
        raise ModelError(NO_CORNERS)

    def from_corners(self, values: Floats) -> Floats:
        """Raises a `ModelError`: the domain has no known corners."""
        raise ModelError(NO_CORNERS)

    def distance(self, x: Floats) -> float:
        """0 for every finite state, because none is known to be outside."""
        return 0.0 if np.isfinite(x).all() else float("inf")


Domain = Simplex | Corners | Unknown
