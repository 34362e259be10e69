"""An orthonormal basis Q of the span of all outcome vectors, to the last digit where possible.

Outcome vectors of long tests are nearly parallel: a basis made from them loses digits, on real
models all of them. The span itself is a clean object, and there are three ways to it.

*Blocks.* If the rank is the number of blocks of indistinguishable states, the span is all vectors
constant on blocks, and Q is made of scaled indicators: exact.

*Rationals.* Otherwise the span has a unique reduced echelon basis, whose entries are rationals that
are usually small. Computed modulo two primes and put together by the Chinese remainder theorem, a
rational n/d with |n|, d below the root of half the modulus is found by the Euclidean algorithm.

*Closure.* For models known only in floats, or if an entry is too large: start from an orthonormal
basis of 1 (and R), apply every D[a,o] to the *basis* instead of to outcome vectors, keep what
sticks out, and repeat. Directions never decay, so their singular values separate cleanly; the
smallest one kept and the largest one dropped are the margin.

Reference: P. S. Wang, "A p-adic algorithm for univariate partial fractions", SYMSAC 1981, on
rational reconstruction.
"""

from __future__ import annotations

from math import isqrt

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.models.pomdp import POMDP
from rpsr.predictive.echelon import outcome_arithmetic
from rpsr.predictive.modular import reductions
from rpsr.predictive.quotient import coarsest
from rpsr.predictive.search import breadth_first

CLOSURE_TOLERANCE = 1e-9  # of a unit vector; noise is near 1e-14, directions near 1e-3
_PROBES = 4


def block_basis(labels: Ints) -> Floats:
    """Q, (S, n): the scaled indicators of the blocks that `labels` (S,) numbers."""
    sizes = np.bincount(labels)
    basis = np.zeros((len(labels), len(sizes)))
    basis[np.arange(len(labels)), labels] = 1 / np.sqrt(sizes[labels])
    return basis


def rational_basis(pomdp: POMDP, *, rewards: bool, seed: int = 0) -> Floats | None:
    """Q, (S, n), from the reduced echelon basis over the rationals; None if that is not found."""
    rng = np.random.default_rng(seed)
    models = reductions(pomdp, rng)
    reduced: list[tuple[Ints, Ints, Ints, int]] = []
    for model in (next(models), next(models)):
        quotient = coarsest(model, rng, rewards=rewards)
        arithmetic = outcome_arithmetic(model, quotient, rng, rewards=rewards)
        breadth_first(arithmetic, rewards)
        rows, pivots = arithmetic.reduced_basis()
        reduced.append((rows, pivots, quotient.labels, model.prime))
    (first, pivots, labels, p), (second, *others, q) = reduced
    if not all(np.array_equal(x, y) for x, y in zip((pivots, labels), others, strict=True)):
        return None
    pairs, where = np.unique(
        np.stack([first.ravel(), second.ravel()], axis=1), axis=0, return_inverse=True
    )
    inverse = pow(p, -1, q)
    values: list[float] = []
    for x, y in pairs.tolist():
        value = _rational(x + p * ((y - x) * inverse % q), p * q)
        if value is None:
            return None
        values.append(value)
    rows = np.array(values)[where.reshape(first.shape)]
    # Scaling by the root of the block sizes keeps angles between vectors over states.
    sizes = np.sqrt(np.bincount(labels))
    basis, _ = np.linalg.qr((rows * sizes).T)
    return (basis / sizes[:, None])[labels]


def _rational(residue: int, modulus: int) -> float | None:
    bound = isqrt(modulus // 2)
    r, next_r, s, next_s = modulus, residue, 0, 1
    while next_r > bound:
        quotient = r // next_r
        r, next_r = next_r, r - quotient * next_r
        s, next_s = next_s, s - quotient * next_s
    return None if next_s == 0 or abs(next_s) > bound else next_r / next_s


def closure_basis(
    pomdp: POMDP, *, rewards: bool, tolerance: float = CLOSURE_TOLERANCE, seed: int = 0
) -> tuple[Floats, tuple[float, float]]:
    """Q, (S, n), in floats, and the margin (smallest kept, largest dropped singular value)."""
    rng = np.random.default_rng(seed)
    columns = [np.ones(len(pomdp.states))]
    if rewards:
        columns += [column for column in pomdp.R.T if np.abs(column).max() > 0]
    block = np.stack([c / np.linalg.norm(c) for c in columns], axis=1)
    basis = np.zeros((len(pomdp.states), 0))
    kept, dropped = np.inf, 0.0
    while True:
        for _ in range(2):  # twice is enough
            block -= basis @ (basis.T @ block)
        directions, sizes, _ = np.linalg.svd(block, full_matrices=False)
        count = int((sizes > tolerance).sum())
        kept = min(kept, float(sizes[count - 1])) if count else kept
        dropped = max(dropped, float(sizes[count])) if count < len(sizes) else dropped
        fresh = directions[:, :count]
        basis = np.linalg.qr(np.concatenate([basis, fresh], axis=1))[0]
        room = len(basis) - basis.shape[1]
        if count == 0 or room == 0:
            return basis, (kept, dropped)
        # Random mixtures of all images span what the images span, in no more columns than fit.
        block = np.zeros((len(basis), room))
        for row in pomdp.D:
            for process in row:
                block += process @ (fresh @ rng.normal(size=(count, room)))
        block /= np.sqrt(count)


def leak(pomdp: POMDP, basis: Floats, seed: int = 0) -> float:
    """How far D[a,o] moves a unit vector of the span out of it, at worst over random probes."""
    probes = np.random.default_rng(seed).normal(size=(basis.shape[1], _PROBES))
    inside = basis @ (probes / np.linalg.norm(probes, axis=0))
    worst = 0.0
    for row in pomdp.D:
        for process in row:
            moved = np.asarray(process @ inside)
            outside = moved - basis @ (basis.T @ moved)
            worst = max(worst, float(np.linalg.norm(outside, axis=0).max()))
    return worst
