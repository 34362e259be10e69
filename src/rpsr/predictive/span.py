"""An orthonormal basis Q of the span of all outcome vectors, to the last digit where possible.

Outcome vectors of long tests are nearly parallel: a basis made from them loses digits, on real
models all of them. The span itself is a clean object, and there are three ways to it.

*Blocks.* If the rank is the number of blocks of indistinguishable states, the span is all vectors
constant on blocks, and Q is made of scaled indicators: exact.

*Rationals.* Otherwise the span has a unique reduced echelon basis, whose entries are rationals that
are usually small. Computed modulo three primes p and put together by the Chinese remainder theorem,
a rational n/d with |n|, d < 2^30 is found by the Euclidean algorithm. Two primes would do to find
it; the third finds out the others, since a residue that stands for no such rational looks like one
with probability below 2^62 / p^3 < 2^-28.

*Closure.* For models known only in floats, or if an entry is too large: start from an orthonormal
basis of 1 (and R), apply every D[a,o] to the *basis* instead of to outcome vectors, keep what
sticks out, and repeat. Directions never decay, so their singular values separate cleanly; the
smallest one kept and the largest one dropped are the margin.

Reference: P. S. Wang, "A p-adic algorithm for univariate partial fractions", SYMSAC 1981, on
rational reconstruction.
"""

from __future__ import annotations

from itertools import islice
from math import prod
from operator import mul

import numpy as np

from rpsr.io.records import Bools, Floats, Ints
from rpsr.models.pomdp import POMDP
from rpsr.predictive.echelon import outcome_arithmetic
from rpsr.predictive.modular import reductions
from rpsr.predictive.orthonormal import reward_magnitudes, weighted_operators
from rpsr.predictive.quotient import coarsest
from rpsr.predictive.search import breadth_first

CLOSURE_TOLERANCE = 1e-9  # of a unit vector; noise is near 1e-14, directions near 1e-3
_PROBES = 4
_PRIMES = 3
_LARGEST = 2**30  # numerator and denominator of an entry of the reduced echelon basis


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
    residues: list[Ints] = []
    primes: list[int] = []
    structures: list[tuple[Ints, Ints]] = []
    for model in islice(models, _PRIMES):
        quotient = coarsest(model, rng, rewards=rewards)
        arithmetic = outcome_arithmetic(model, quotient, rng, rewards=rewards)
        breadth_first(arithmetic, rewards)
        rows, pivots = arithmetic.reduced_basis()
        residues.append(rows.ravel())
        primes.append(model.prime)
        structures.append((pivots, quotient.labels))
    pivots, labels = structures[0]
    for others in structures[1:]:
        if not all(np.array_equal(x, y) for x, y in zip((pivots, labels), others, strict=True)):
            return None
    distinct, where = np.unique(np.stack(residues, axis=1), axis=0, return_inverse=True)
    modulus = prod(primes)
    units = [modulus // p * pow(modulus // p, -1, p) for p in primes]  # 1 modulo p, 0 modulo others
    values = [
        _rational(sum(map(mul, entry, units)) % modulus, modulus) for entry in distinct.tolist()
    ]
    if None in values:
        return None
    rows = np.array(values, dtype=np.float64)[where.reshape(len(pivots), -1)]
    # Scaling by the root of the block sizes keeps angles between vectors over states.
    sizes = np.sqrt(np.bincount(labels))
    basis, _ = np.linalg.qr((rows * sizes).T)
    return (basis / sizes[:, None])[labels]


def _rational(residue: int, modulus: int) -> float | None:
    """The small rational that a residue stands for, if there is one."""
    r, next_r, s, next_s = modulus, residue, 0, 1
    while next_r >= _LARGEST:
        quotient = r // next_r
        r, next_r = next_r, r - quotient * next_r
        s, next_s = next_s, s - quotient * next_s
    return next_r / next_s if 0 < abs(next_s) < _LARGEST else None


def closure_basis(
    pomdp: POMDP, *, rewards: bool, tolerance: float = CLOSURE_TOLERANCE, seed: int = 0
) -> tuple[Floats, tuple[float, float]]:
    """Q, (S, n), in floats, and the margin (smallest kept, largest dropped singular value)."""
    rng = np.random.default_rng(seed)
    quotient = coarsest(next(reductions(pomdp, rng)), rng, rewards=rewards)
    operators, weights = weighted_operators(pomdp, quotient)
    size = quotient.size
    columns = [weights]
    if rewards:
        columns += [c * weights for c in pomdp.R[quotient.first].T if np.abs(c).max() > 0]
    block = np.stack([c / np.linalg.norm(c) for c in columns], axis=1)
    basis = np.zeros((size, 0))
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
        room = size - basis.shape[1]
        if count == 0 or room == 0:
            return (basis / weights[:, None])[quotient.labels], (kept, dropped)
        # Random mixtures of all images span what the images span, in no more columns than fit.
        block = np.zeros((size, room))
        for first in range(0, operators.shape[0], size):
            block += operators[first : first + size] @ (fresh @ rng.normal(size=(count, room)))
        block /= np.sqrt(count)


def rewards_in_span(pomdp: POMDP, basis: Floats) -> Bools:
    """(A,): whether R[:,a] lies in the span of Q, relative to its size without cancellation."""
    sizes = np.linalg.norm(reward_magnitudes(pomdp), axis=0)
    left = np.linalg.norm(pomdp.R - basis @ (basis.T @ pomdp.R), axis=0)
    return left <= CLOSURE_TOLERANCE * sizes


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
