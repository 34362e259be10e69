"""Equal corners are merged and errors of coordinates bounded, both with little work."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rpsr.domains import build
from rpsr.planning.corners.corner_model import corner_process
from rpsr.planning.corners.merging import (
    SAME_CORNER,
    largest_coordinate,
    merge_corners,
    near_groups,
)
from rpsr.predictive import psr, rpsr


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
    corner_of, apart = merge_corners(points)
    expected, distance = literally(points)
    assert corner_of.tolist() == expected
    assert apart == distance


def test_different_corners_are_not_compared_one_by_one():
    points = np.random.default_rng(0).random((3000, 20))
    assert not near_groups(points, SAME_CORNER)
    points[[7, 2000]] = points[5]
    assert [group.tolist() for group in near_groups(points, SAME_CORNER)] == [[5, 7, 2000]]


def test_no_factorisation_bounds_the_coordinates_of_a_psr(monkeypatch):
    models = [psr(build("tiger")), rpsr(build("loadunload")), rpsr(build("4x3"))]
    exact = [np.abs(np.linalg.pinv(model.domain.points)).sum(axis=1).max() for model in models]
    monkeypatch.setattr(np.linalg, "pinv", lambda points: pytest.fail("it was factorised"))
    assert [largest_coordinate(model.domain.points) for model in models] == pytest.approx(exact)
    for model in models:
        corner_process(model)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1e-8, 1e-3, 1.0]))
def test_coordinates_are_at_most_the_bound_times_values_at_the_corners(seed, skew):
    rng = np.random.default_rng(seed)
    points = np.linalg.qr(rng.normal(size=(6, 3)))[0] + skew * rng.normal(size=(6, 3))
    vector = rng.normal(size=3)
    largest = largest_coordinate(points) * np.abs(points @ vector).max()
    assert np.abs(vector).max() <= largest * (1 + 1e-12)
