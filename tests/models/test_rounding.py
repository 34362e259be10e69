"""The lemmas on rounding, each against exact fractions."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rpsr.models.rounding import (
    chained,
    expectations,
    one_backup,
    one_step,
    products,
    row_sum,
    weighted_mean,
)

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


@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 40))
def test_sums_of_products_of_sums_of_products(seed, m, n):
    rng = np.random.default_rng(seed)
    a, b, c = _wild(rng, n), _wild(rng, (n, m)), _wild(rng, m)
    exact, size = _exact_dot(_exact_rows(b.T, a), c)
    for computed in (float((a @ b) @ c), float(a @ (b @ c)), float(np.einsum("i,ij,j", a, b, c))):
        assert abs(Fraction(computed) - exact) <= Fraction(chained(n, m)) * size


@given(st.integers(0, 10**6), st.integers(1, 200))
def test_weighted_means_of_differences(seed, m):
    """Weights divided by their sum first, or the sum last; with the signs of a direction."""
    rng = np.random.default_rng(seed)
    weights, left, right = rng.random(m) ** 4, rng.normal(size=m), rng.normal(size=m)
    signs = rng.choice([1.0, rng.choice([-1.0, 1.0])], m)
    wanted = [Fraction(x) - Fraction(y) for x, y in zip(left.tolist(), right.tolist(), strict=True)]
    exact = sum(Fraction(w) * y for w, y in zip((weights * signs).tolist(), wanted, strict=True))
    exact /= sum(map(Fraction, weights.tolist()))
    first = float((weights / weights.sum() * signs) @ (left - right))
    last = float((weights * signs * (left - right)).sum() / sum(weights.tolist()))
    for computed in (first, last):
        off = abs(Fraction(computed) - exact)
        assert off <= Fraction(weighted_mean(m)) * max(map(abs, wanted))


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 4), st.booleans())
def test_backups_of_rows_that_were_rounded_or_not_divided(seed, k, n, divided):
    """Against the model that is meant; corners with equal values may be merged."""
    rng = np.random.default_rng(seed)
    t, z = _row(rng, k, divided), [_row(rng, n, divided) for _ in range(k)]
    discount, merged = float(rng.choice([0.95, 1.0, 0.3])), int(rng.integers(1, k + 1))
    corner = np.sort(rng.integers(merged, size=k))
    values = _wild(rng, (n, merged))
    reward = Fraction(int(rng.integers(-(10**9), 10**9)), 7 * 10 ** int(rng.integers(9)))
    chances = discount * (t.floats[:, None] * np.array([row.floats for row in z]))  # (k, n)
    total, entries, exact = float(reward), 0, reward
    for o in range(n):
        for c in np.unique(corner).tolist():
            total += float(np.add.reduceat(chances[corner == c, o], [0])[0]) * float(values[o, c])
            entries += 1
        for s in range(k):
            chance = Fraction(discount) * t.meant[s] * z[s].meant[o]
            exact += chance * Fraction(float(values[o, corner[s]]))
    largest = max(Fraction(float(np.abs(values).max())), min(abs(exact), abs(reward)))
    assert abs(Fraction(total) - exact) <= Fraction(one_backup(entries, k, n, merged)) * largest


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 4), st.booleans())
def test_one_step_values_at_beliefs(seed, k, n, divided):
    rng = np.random.default_rng(seed)
    t = [_row(rng, k, divided) for _ in range(k)]
    z = [_row(rng, n, divided) for _ in range(k)]
    x, values = rng.dirichlet(np.ones(k)), _wild(rng, n)
    rewards, discount = _wild(rng, k), 0.95
    operators = np.array([row.floats for row in t]) * np.array([row.floats for row in z]).T[:, None]
    computed = float(x @ rewards)
    for o in range(n):
        computed += discount * float((x @ operators[o]).sum()) * float(values[o])
    exact, size = _exact_dot([Fraction(p) for p in x.tolist()], rewards)
    for s, after, o in np.ndindex(k, k, n):
        chance = Fraction(discount) * t[s].meant[after] * z[after].meant[o]
        exact += Fraction(float(x[s])) * chance * Fraction(float(values[o]))
    size += Fraction(float(np.abs(values).max()))
    assert abs(Fraction(computed) - exact) <= Fraction(one_step(k, n)) * size


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 3), st.integers(1, 4))
def test_one_step_values_on_blocks_of_states(seed, blocks, size, n):
    """In coordinates Q = states in blocks, each divided by the root of its size."""
    rng, k = np.random.default_rng(seed), blocks * size
    t = [_row(rng, k, divided=False) for _ in range(blocks)]  # states of a block are alike
    z = [_row(rng, n, divided=False) for _ in range(blocks)]
    basis = np.kron(np.eye(blocks), np.full((size, 1), 1 / np.sqrt(size)))
    block = np.repeat(np.arange(blocks), size)
    moves = np.array([row.floats for row in t])[block]  # (k, k)
    shown = np.array([row.floats for row in z])[block]  # (k, n)
    b, values = rng.dirichlet(np.ones(k)), _wild(rng, n)
    x, ones = b @ basis, basis.T @ np.ones(k)
    computed, exact = 0.0, Fraction(0)
    for o in range(n):
        operator = basis.T @ (moves * shown[:, o]) @ basis
        computed += 0.95 * float((x @ operator) @ ones) * float(values[o])
        for s, after in np.ndindex(k, k):
            chance = t[block[s]].meant[after] * z[block[after]].meant[o]
            term = Fraction(0.95) * chance * Fraction(float(values[o]))
            exact += Fraction(float(b[s])) * term
    allowed = Fraction(one_step(blocks, n, k)) * Fraction(float(np.abs(values).max()))
    assert abs(Fraction(computed) - exact) <= allowed


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


@dataclass
class _Row:
    """Probabilities in floats, and those that are meant."""

    floats: np.ndarray
    meant: list[Fraction]


def _row(rng, size, divided):
    """A row rounded from one that sums to 1, or one that sums to about 1 and is meant divided."""
    if divided:
        weights = rng.integers(1, 10**6, size=size).tolist()
        meant = [Fraction(weight, sum(weights)) for weight in weights]
        return _Row(np.array([float(number) for number in meant]), meant)
    floats = _nearly_one(rng, size)
    total = sum(map(Fraction, floats.tolist()))
    return _Row(floats, [Fraction(number) / total for number in floats.tolist()])


def _wild(rng, shape):
    return rng.normal(size=shape) * 10.0 ** rng.integers(-4, 4, size=shape)


def _exact_rows(rows, vector):
    """Each row times the vector, with the same of absolute values: (product, size)."""
    return [
        (
            sum(Fraction(a) * Fraction(b) for a, b in zip(row, vector.tolist(), strict=True)),
            sum(abs(Fraction(a) * Fraction(b)) for a, b in zip(row, vector.tolist(), strict=True)),
        )
        for row in rows.tolist()
    ]


def _exact_dot(left, right):
    """The sum of products, and of their absolute values; left: numbers or (product, size)."""
    pairs = [one if isinstance(one, tuple) else (one, abs(one)) for one in left]
    numbers = [Fraction(number) for number in right.tolist()]
    exact = sum(pair[0] * number for pair, number in zip(pairs, numbers, strict=True))
    return exact, sum(pair[1] * abs(number) for pair, number in zip(pairs, numbers, strict=True))
