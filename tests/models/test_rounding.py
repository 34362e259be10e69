"""The lemmas on rounding, each against exact fractions."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rpsr.models.rounding import expectations, products, row_sum

NUMBERS = st.fractions(-(10**9), 10**9, max_denominator=10**12)
ORDERS = {
    "dot": lambda x, y: float(x @ y),
    "one by one": lambda x, y: float(sum((x * y).tolist())),
    "pairwise": lambda x, y: float((x * y).sum()),
    "backwards": lambda x, y: float(sum((x * y)[::-1].tolist())),
    "matrices": lambda x, y: float((x[None] @ np.column_stack([y, y]))[0, 1]),
    "counted": lambda x, y: float(np.bincount(np.zeros(len(x), dtype=int), x * y)[0]),
}


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=60))
def test_sums_of_products_of_rounded_numbers(pairs):
    x, y = (np.array([float(pair[i]) for pair in pairs]) for i in (0, 1))
    exact = sum(a * b for a, b in pairs)
    size = sum(abs(a * b) for a, b in pairs)
    for order, compute in ORDERS.items():
        off = abs(Fraction(compute(x, y)) - exact)
        assert off <= Fraction(products(len(pairs))) * size, order


@given(st.integers(0, 10**6), st.integers(1, 5000))
def test_long_sums_that_cancel(seed, m):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=m) * 10.0 ** rng.integers(-8, 8, size=m), rng.choice([-1.0, 1.0], m)
    exact = sum(Fraction(a) * Fraction(b) for a, b in zip(x.tolist(), y.tolist(), strict=True))
    size = sum(Fraction(a) for a in np.abs(x).tolist())
    for order, compute in ORDERS.items():
        assert abs(Fraction(compute(x, y)) - exact) <= Fraction(products(m)) * size, order


@given(st.lists(st.integers(1, 10**15), min_size=1, max_size=300))
def test_rows_that_were_rounded_sum_to_one_nearly(weights):
    total = sum(weights)
    row = np.array([float(Fraction(weight, total)) for weight in weights])
    for computed in (float(row.sum()), float(sum(row.tolist())), float(row @ np.ones(len(row)))):
        assert abs(Fraction(computed) - 1) <= Fraction(float(row_sum(np.array([len(row)]))[0]))


def test_the_bounds_are_not_idle():
    # One third is rounded down by u / 3 of it, so thrice as many terms are off by thrice as much.
    thirds = np.full(3, 1 / 3)
    assert 0 < abs(Fraction(float(thirds[0])) - Fraction(1, 3)) * 3 < Fraction(products(3))
    assert products(10**6) < 1e-9


@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 20))
def test_expected_values_of_rows_that_were_not_divided_by_their_sums(seed, m, n):
    """Against the exact value of the model that is meant, whose rows are divided by their sums."""
    rng = np.random.default_rng(seed)
    p, q = (_nearly_one(rng, size) for size in (m, n))
    v = rng.normal(size=(m, n)) * 10.0 ** rng.integers(-6, 6, size=(m, n))
    chances, size = (p[:, None] * q).ravel(), m * n
    computed = float(np.bincount(np.zeros(size, dtype=int), chances * v.ravel())[0])
    exact = absolute = Fraction(0)
    for i, j in np.ndindex(m, n):
        term = Fraction(p[i]) * Fraction(q[j]) * Fraction(v[i, j])
        exact, absolute = exact + term, absolute + abs(term)
    exact /= sum(map(Fraction, p.tolist())) * sum(map(Fraction, q.tolist()))
    allowed = Fraction(float(expectations(np.array([size]), n)[0]))
    assert abs(Fraction(computed) - exact) <= allowed * absolute


def _nearly_one(rng, size):
    """A row of floats whose computed sum is one up to `row_sum`, as close to that as it gets."""
    row = rng.dirichlet(np.ones(size))
    most = float(row_sum(np.array([size]))[0])
    for _ in range(4 * size):
        raised = row.copy()
        raised[rng.integers(size)] *= 1 + 2.0**-52
        if abs(raised.sum() - 1) > most:
            break
        row = raised
    return row if abs(row.sum() - 1) <= most else row / row.sum()
