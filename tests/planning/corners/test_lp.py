"""The small linear program: bounds that hold, against HiGHS and uncompiled."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import few

from rpsr.planning.corners import simplex_method
from rpsr.planning.corners.linear_programs import careful_gain, gain

KINDS = ("random", "parallel", "duplicate", "curved", "integer", "nested")


def program(seed, kind, largest=60):
    """Vectors (N, k) and w (k,) of one kind, at a scale between 1e-6 and 1e6."""
    rng = np.random.default_rng(seed)
    k, count = int(rng.integers(1, 16)), int(rng.integers(1, largest))
    scale = 10.0 ** rng.integers(-6, 7)
    if kind == "parallel":
        base = rng.normal(size=k)
        vectors, w = base + 1e-8 * rng.normal(size=(count, k)), base + 1e-8 * rng.normal(size=k)
    elif kind == "duplicate":
        some = rng.normal(size=(count // 4 + 1, k))
        vectors = some[rng.integers(len(some), size=count)]
        w = vectors[rng.integers(count, size=3)].mean(axis=0) + 1e-12
    elif kind == "curved":
        x = rng.dirichlet(np.ones(k), size=count)
        vectors = 100 - 10 * ((np.eye(k)[None] - x[:, None]) ** 2).sum(axis=2)
        w = vectors[0] + 0.1 * rng.normal(size=k)
    elif kind == "integer":
        vectors = rng.integers(-2, 3, size=(count, k)).astype(float)
        w = rng.integers(-2, 3, size=k).astype(float)
    elif kind == "nested":
        vectors = 10.0 ** -rng.integers(0, 14, size=(count, 1)) * rng.normal(size=(count, k))
        w = 1e-7 * rng.normal(size=k)
    else:
        vectors, w = rng.normal(size=(count, k)), rng.normal(size=k)
    return scale * vectors, scale * w


def size_of(vectors, w):
    return max(np.abs(vectors).max(), np.abs(w).max())


def check_bounds(vectors, w, result):
    """Both bounds follow from their witnesses, recomputed here."""
    tiny = 1e-14 * size_of(vectors, w)
    assert result.mix.min() >= 0
    assert result.mix.sum() == pytest.approx(1, abs=1e-12)
    upper = (w - result.mix @ vectors[result.chosen]).max()
    assert result.upper == pytest.approx(upper, abs=tiny)
    if result.lower > -np.inf:
        assert result.point.min() >= 0
        assert result.point.sum() == pytest.approx(1, abs=1e-12)
        lower = (result.point @ (w - vectors).T).min()
        assert result.lower == pytest.approx(lower, abs=tiny)
        assert result.lower <= result.upper + tiny


@pytest.mark.parametrize("kind", KINDS)
def test_the_kernel_solves_what_highs_solves(kind):
    asked = 0
    for seed in range(500):
        vectors, w = program(seed, kind)
        result, other = gain(vectors, w), careful_gain(vectors, w)
        check_bounds(vectors, w, result)
        check_bounds(vectors, w, other)
        scale = size_of(vectors, w)
        assert result.upper - result.lower <= 1e-12 * scale
        assert result.upper >= other.lower - 1e-14 * scale
        assert result.lower <= other.upper + 1e-14 * scale
        asked += result.careful
    assert asked <= 2  # HiGHS is for the odd one


@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS))
@settings(max_examples=few(25))
def test_uncompiled_equals_compiled(seed, kind):
    vectors, w = program(seed, kind, largest=8)
    compiled = gain(vectors, w)
    names = ("worst_excess", "evaluate", "mixture_bound", "column_of", "invert", "simplex")
    plain = simplex_method.best_gain.py_func
    saved = {name: getattr(simplex_method, name) for name in names}
    for name in names:
        setattr(simplex_method, name, saved[name].py_func)
    try:
        space = simplex_method.workspace.py_func(len(w), len(vectors))
        tolerance = 1e-12 * size_of(vectors, w)
        u = np.ascontiguousarray(vectors.T)
        near = simplex_method.worst_excess(u, len(vectors), w, space.scores)
        upper, lower, _ = plain(u, len(vectors), w, near, -np.inf, tolerance, space)
    finally:
        for name in names:
            setattr(simplex_method, name, saved[name])
    tiny = 1e-12 * size_of(vectors, w)
    assert upper == pytest.approx(compiled.upper, abs=tiny)
    assert lower == pytest.approx(compiled.lower, abs=tiny)


def test_a_cutoff_stops_at_a_bound_that_is_good_enough():
    for seed in range(200):
        vectors, w = program(seed, "curved")
        best = gain(vectors, w).upper
        result = gain(vectors, w, cutoff=best + 0.1 * abs(best))
        check_bounds(vectors, w, result)
        assert result.upper <= best + 0.1 * abs(best)


def test_a_vector_of_the_set_gains_nothing():
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]])
    assert gain(vectors, vectors[2]).upper == 0


def test_the_gain_of_a_known_case():
    result = gain(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0.8, 0.8]))
    assert result.upper == pytest.approx(0.3, abs=1e-15)
    assert result.point == pytest.approx([0.5, 0.5], abs=1e-15)


def test_one_corner_and_one_vector():
    result = gain(np.array([[2.0]]), np.array([3.0]))
    assert (result.upper, result.lower) == (1.0, 1.0)


def test_highs_is_asked_when_the_kernel_gives_up(monkeypatch):
    def lazy(u, count, w, ref, cutoff, tolerance, space):
        space.point[:] = 1 / len(w)
        space.labels[simplex_method.CHOSEN, 0] = 0
        space.numbers[simplex_method.MIX, 0] = 1.0
        return float((w - u[:, 0]).max()), -np.inf, 1

    monkeypatch.setattr("rpsr.planning.corners.linear_programs.best_gain", lazy)
    result = gain(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0.8, 0.8]))
    assert result.careful
    assert result.upper == pytest.approx(0.3, abs=1e-9)
    assert result.lower == pytest.approx(0.3, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_the_vector_that_comes_closest_everywhere_is_the_least_of_the_worst(kind):
    for seed in range(20):
        vectors, w = program(seed, kind)
        columns, scores = np.ascontiguousarray(vectors.T), np.empty(len(vectors))
        best = simplex_method.worst_excess.py_func(columns, len(vectors), w, scores)
        worst = (w - vectors).max(axis=1)
        np.testing.assert_array_equal(scores, worst)
        assert worst[best] == worst.min()


def test_a_basis_is_inverted_whatever_its_entries():
    """Entries are small integers: elimination meets factors of 0, 1 and -1."""
    rng, inverted = np.random.default_rng(0), 0
    for _ in range(100):
        k = int(rng.integers(1, 6))
        vectors = rng.integers(-2, 3, size=(k, k)).astype(float)
        # Columns of the constraints: those of the vectors less the first, of Y, of the slacks.
        columns = np.zeros((k + 1, 2 * k + 1))
        columns[:k] = np.hstack([vectors - vectors[:, :1], np.ones((k, 1)), -np.eye(k)])
        columns[k, :k] = 1
        variables = np.array([*range(k), simplex_method.Y, *(-2 - s for s in range(k))])
        basis = rng.choice(2 * k + 1, k + 1, replace=False)
        matrix, space = columns[:, basis], simplex_method.workspace.plain(k, k)
        space.labels[simplex_method.BASIS] = variables[basis]
        if np.linalg.matrix_rank(matrix) <= k:
            continue
        assert simplex_method.invert.plain(vectors, 0, 1.0, space)
        np.testing.assert_allclose(space.inverse @ matrix, np.eye(k + 1), atol=1e-12)
        inverted += 1
    assert inverted > 20
    space.labels[simplex_method.BASIS] = -2  # the same slack in every place
    assert not simplex_method.invert.plain(vectors, 0, 1.0, space)
