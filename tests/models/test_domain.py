"""Where states live: distances to the simplex and to hulls of corners."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from rpsr import InputError
from rpsr.models import Corners, Simplex, Unknown


def hull(points) -> Corners:
    """Corners that stay where they are."""
    return Corners(np.array(points, dtype=float), ((sp.eye_array(len(points)),),))


SQUARE = hull([[0, 0], [1, 0], [0, 1], [1, 1]])


@pytest.mark.parametrize(
    ("x", "distance"),
    [
        ([0.2, 0.3, 0.5], 0),
        ([1, 0, 0], 0),
        ([0.5, 0.5, 0.5], 0.5),
        ([-0.25, 0.75, 0.5], 0.25),
        ([0, 0, 0], 1),
    ],
)
def test_distance_to_the_simplex_is_the_worst_violation(x, distance):
    assert Simplex(3).distance(np.array(x)) == pytest.approx(distance)


def test_what_is_no_number_is_not_in_the_simplex():
    assert not Simplex(2).distance(np.array([np.nan, 1.0])) <= 1e-9
    assert not Simplex(2).distance(np.array([np.inf, 1.0])) <= 1e-9


@pytest.mark.parametrize(
    ("x", "distance"),
    [
        ([0.5, 0.5], 0),
        ([1, 1], 0),
        ([1, 0.3], 0),
        ([2, 0.5], 1),
        ([-0.25, -0.5], 0.5),
        ([1.5, 1.25], 0.5),
    ],
)
def test_distance_to_a_square_is_measured_in_the_largest_coordinate(x, distance):
    assert SQUARE.distance(np.array(x)) == pytest.approx(distance, abs=1e-9)


def test_distance_to_a_triangle():
    triangle = hull([[0, 0], [2, 0], [0, 2]])
    assert triangle.distance(np.array([2.0, 2.0])) == pytest.approx(1)
    assert triangle.distance(np.array([1.0, 1.0])) == pytest.approx(0, abs=1e-9)


def test_distance_to_a_single_corner():
    assert hull([[1, 2, 3]]).distance(np.array([1.0, 0.0, 2.5])) == pytest.approx(2)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_is_in_no_hull(bad):
    assert not SQUARE.distance(np.array([bad, 0.5])) <= 1e-9


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 5))
def test_mixtures_of_corners_are_inside(seed, k, n):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(k, n))
    x = rng.dirichlet(np.ones(k)) @ points
    assert hull(points).distance(x) <= 1e-9


@given(st.integers(0, 2**32 - 1), st.floats(1e-7, 10))
def test_what_is_beyond_a_face_is_outside_by_that_much(seed, far):
    rng = np.random.default_rng(seed)
    points = rng.random((8, 3)) * [1, 1, 0]  # a polygon in a plane
    x = rng.dirichlet(np.ones(8)) @ points + [0, 0, far]
    assert hull(points).distance(x) == pytest.approx(far, rel=1e-6, abs=1e-9)


def test_corners_own_their_points():
    points = np.eye(2)
    corners = hull(points)
    points[:] = 7
    assert np.array_equal(corners.points, np.eye(2))
    assert not corners.points.flags.writeable


def test_points_and_kernel_must_fit():
    with pytest.raises(InputError, match=r"points: read shape \(3, 2\), expected \(2, n\)"):
        Corners(np.ones((3, 2)), ((sp.eye_array(2),),))
    with pytest.raises(InputError, match="kernel: read matrices of shape"):
        Corners(np.ones((3, 2)), ((sp.csr_array((3, 2)),),))


@pytest.mark.parametrize(
    ("domain", "known", "beliefs", "dimension", "own"),
    [
        (Simplex(3), True, True, 3, False),
        (SQUARE, True, False, 2, True),
        (Unknown(), False, False, None, False),
    ],
)
def test_domains_say_what_planners_ask(domain, known, beliefs, dimension, own):
    """By attributes, so that nothing asks for their types."""
    assert (domain.known, domain.beliefs, domain.dimension) == (known, beliefs, dimension)
    assert (domain.points is not None, domain.kernel is not None) == (own, own)
    assert domain.start is None
