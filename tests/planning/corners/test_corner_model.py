"""Equal corners are merged and errors of coordinates bounded, both with little work."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rpsr import POMDP
from rpsr.domains import build
from rpsr.planning.corners.corner_model import (
    SAME_CORNER,
    _merge,
    corner_process,
    largest_coordinate,
    near_groups,
)
from rpsr.planning.planners import solve
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
    corner_of, apart = _merge(points)
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


@pytest.mark.parametrize("deviation", [110, -110])
@pytest.mark.parametrize("reward", [1.0, -1.0])
def test_bounds_allow_for_the_rows_of_all_corners_that_were_merged(deviation, reward):
    """Rows of 120 floats sum to 1 up to 110 u, and are meant divided; an R-PSR has one state."""
    row = np.full(120, 1 / 120) * (1 + deviation * 2.0**-53)
    assert abs(float(sum(map(Fraction, row.tolist())) - 1)) > 100 * 2.0**-53
    moves, shown = np.tile(row, (1, 120, 1)), np.ones((1, 120, 1))
    rewards, start = np.full((1, 120), reward), np.full(120, 1 / 120)
    pomdp = POMDP.from_arrays(moves, shown, rewards, start, discount=0.999)
    model, value = rpsr(pomdp), Fraction(reward) / (1 - Fraction(0.999))
    assert model.dimension == 1
    assert corner_process(model).k == 1
    for planner in ("vi", "reachable"):
        plan = solve(model, planner)
        assert Fraction(plan.lower) <= value <= Fraction(plan.upper), planner


def test_the_discount_of_a_process_is_never_below_the_model_s():
    # Sums of rows are computed; the rows that are meant sum to one.
    row = np.full((1, 7, 7), 1 / 7 - 2.0**-56)
    pomdp = POMDP.from_arrays(row, np.ones((1, 7, 1)), np.eye(1, 7), discount=0.999)
    assert corner_process(pomdp.belief_model()).discount >= 0.999
