"""Corners that are one within rounding are merged, with little work."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rpsr.planning.corners.corner_model import SAME_CORNER, _merge, near_groups


def literally(points):
    """The first corner within the tolerance, by comparing each with all before it."""
    size = np.abs(points).max()
    first, corner_of = [], []
    for s, point in enumerate(points):
        near = [
            i for i, f in enumerate(first) if np.abs(points[f] - point).max() <= SAME_CORNER * size
        ]
        corner_of.append(near[0] if near else len(first))
        if not near:
            first.append(s)
    apart = max(np.abs(points[s] - points[first[c]]).sum() for s, c in enumerate(corner_of))
    return corner_of, apart


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 30),
    st.integers(1, 4),
    st.sampled_from([0, 1e-13, 1e-12]),
)
def test_merged_corners_are_those_that_comparing_all_finds(seed, k, n, noise):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(k, n))[rng.integers(k, size=k)]
    points = points + noise * rng.uniform(-1, 1, size=points.shape)
    corner_of, apart = _merge(points)
    expected, distance = literally(points)
    assert corner_of.tolist() == expected
    assert apart == distance


def test_different_corners_are_not_compared_one_by_one():
    points = np.random.default_rng(0).random((3000, 20))
    assert not near_groups(points, SAME_CORNER)
    points[[7, 2000]] = points[5]
    assert [group.tolist() for group in near_groups(points, SAME_CORNER)] == [[5, 7, 2000]]
