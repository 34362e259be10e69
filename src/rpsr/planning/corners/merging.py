"""Corners that coincide are merged; how much that may change a value.

Indistinguishable states of a POMDP have equal rows in a PSR's or an R-PSR's basis, up to rounding.
"""

from __future__ import annotations

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.models.rounding import weighted_mean

SAME_CORNER = 1e-12  # of the largest coordinate: closer corners are one
ORTHONORMAL = 1e-6  # the largest deviation of products of a basis from orthonormal ones


def merge_corners(points: Floats) -> tuple[Ints, float]:
    """The merged corner of each corner, (K,), and the largest distance of merged ones.

    A corner is merged with the first one within the tolerance.
    """
    size, same = float(np.abs(points).max()), np.arange(len(points))
    for group in near_groups(points, SAME_CORNER):
        first: list[int] = []
        for s in group.tolist():
            near = np.abs(points[first] - points[s]).max(axis=1, initial=0.0) <= SAME_CORNER * size
            if near.any():
                same[s] = first[int(near.argmax())]
            else:
                first.append(s)
    corner_of = np.unique(same, return_inverse=True)[1].reshape(-1)
    return corner_of, float(np.abs(points - points[same]).sum(axis=1).max())


def near_groups(points: Floats, tolerance: float) -> list[Ints]:
    """Groups of two or more points (K, n) such that points of different groups are not near.

    Near: within the tolerance of each other in every coordinate, relative to the largest. Then
    their products with a vector of unit 1-norm, here a random one, are as near, up to rounding. So
    the products are sorted, and a group ends where the next product is farther.
    """
    k, n = points.shape
    direction = np.random.default_rng(0).standard_normal(n)
    along = points @ (direction / np.abs(direction).sum())
    order = np.argsort(along, kind="stable")
    # Each of two products is a weighted mean of coordinates, up to signs.
    apart = (tolerance + 2 * weighted_mean(n)) * float(np.abs(points).max())
    ends = np.flatnonzero(np.diff(along[order]) > apart) + 1
    begins, ends = np.append(0, ends), np.append(ends, k)
    several = np.flatnonzero(ends - begins > 1)
    return [np.sort(order[begins[i] : ends[i]]) for i in several]


def largest_coordinate(points: Floats) -> float:
    """A bound on a vector's coordinates, for values of at most 1 at the corners (k, n).

    The largest row sum of |P^+| for the points P. P^+ = G^-1 P^T with G = P^T P, which is nearly
    the identity I for a PSR or an R-PSR: row sums of |G^-1| are at most 1 / (1 - those of |G - I|).
    """
    skew = float(np.abs(points.T @ points - np.eye(points.shape[1])).sum(axis=1).max())
    if skew <= ORTHONORMAL:
        return float(np.abs(points).sum(axis=0).max()) / (1 - skew)
    return float(np.abs(np.linalg.pinv(points)).sum(axis=1).max())
