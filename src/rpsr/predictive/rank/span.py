"""An orthonormal basis Q of the span of all outcome vectors, accurate to rounding.

Outcome vectors of long tests are nearly parallel: a basis computed from them loses digits, on real
models all of them. The span itself is well defined, and there are three ways to compute it.

*Blocks.* If the rank is the number of blocks of indistinguishable states, the span is all vectors
constant on blocks, and Q is made of scaled indicators: exact.

*Rationals.* Otherwise the span has a unique reduced echelon basis, whose entries are rationals that
are usually small. It is computed modulo two primes and combined by the Chinese remainder theorem;
the Euclidean algorithm then finds a rational n/d with |n|, d below the root of half the modulus. A
third prime must agree with every entry.

*Closure.* For models known only in floats, or if an entry is too large: `closure`.

In all three, `leak` measures how far the operators move the span out of itself.

Reference: P. S. Wang, "A p-adic algorithm for univariate partial fractions", SYMSAC 1981, on
rational reconstruction.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import numpy as np

from rpsr import deadline
from rpsr.io.records import Bools, Floats, Ints
from rpsr.models.operators import Sparse
from rpsr.models.pomdp import POMDP
from rpsr.models.rounding import products
from rpsr.predictive.rank.closure import TOLERANCE, close
from rpsr.predictive.rank.modular import reductions
from rpsr.predictive.rank.modular_search import FINDING_BASIS, Spans
from rpsr.predictive.rank.orthonormal import reward_magnitudes, weighted_operators
from rpsr.predictive.rank.quotient import coarsest

_PROBES = 4
_LARGE_BLOCK = 2**19  # numbers in a block of work


def block_basis(labels: Ints) -> Floats:
    """Q, (S, n): a scaled indicator for each block; labels (S,): the block of each state."""
    sizes = np.bincount(labels)
    basis = np.zeros((len(labels), len(sizes)))
    basis[np.arange(len(labels)), labels] = 1 / np.sqrt(sizes[labels])
    return basis


def rational_basis(spans: Spans) -> tuple[Floats, Ints, float] | None:
    """Q, (S, n), from the reduced echelon basis over the rationals; None if that is not found.

    Also labels (S,): states have the same label if and only if their rows of U are the same. And a
    bound on the error |(I - P) Q|, with P the projection on the span: for any Z it is at most
    |Q - B Z|, where B is the exact basis; Z is chosen so that this is small.
    """
    echelon = rational_rows(spans)
    if echelon is None:
        return None
    exact, labels = echelon
    sizes = np.sqrt(np.bincount(labels))
    rows = np.array([[float(x) for x in row] for row in exact])
    alike = np.unique(rows, axis=1, return_inverse=True)[1].ravel()
    # Scaling by the root of the block sizes keeps angles between vectors over states.
    scaled = (rows * sizes).T
    deadline.check(2 * scaled.shape[0] * scaled.shape[1] ** 2)
    basis, triangle = np.linalg.qr(scaled)
    mixed = np.linalg.inv(triangle)
    left = np.abs(basis - scaled @ mixed)
    left += products(len(rows) + 2) * (np.abs(scaled) @ np.abs(mixed) + np.abs(basis))
    return (
        (basis / sizes[:, None])[labels],
        _renumbered(alike[labels]),
        float(np.linalg.norm(left)) * (1 + products(len(rows))),
    )


def rational_rows(spans: Spans, primes: int = 2) -> tuple[list[list[Fraction]], Ints] | None:
    """The reduced echelon basis of the span over the rationals, by blocks; None if not found.

    n rows of as many numbers as there are blocks, and the block of each state (S,).
    primes: combined to find rationals; one more checks them.
    """
    one, *others = reduced = spans.first(primes + 1)
    for other in others:
        same_blocks = np.array_equal(one.labels, other.labels)
        if not (same_blocks and np.array_equal(one.pivots, other.pivots)):
            return None
    deadline.check()
    entries = np.stack([span.rows.ravel() for span in reduced], axis=1)
    distinct, where = np.unique(entries, axis=0, return_inverse=True)
    *moduli, check = (span.prime for span in reduced)
    values: list[Fraction] = []
    for i, (*residues, z) in enumerate(distinct.tolist()):
        if i % 1024 == 0:
            deadline.check()
        together, modulus = 0, 1
        for residue, prime in zip(residues, moduli, strict=True):
            together += modulus * ((residue - together) * pow(modulus, -1, prime) % prime)
            modulus *= prime
        ratio = _rational(together, modulus)
        if ratio is None or (ratio[0] - ratio[1] * z) % check != 0:
            return None
        values.append(Fraction(*ratio))
    table = where.reshape(one.rows.shape)
    return [[values[k] for k in row.tolist()] for row in table], one.labels


def _renumbered(labels: Ints) -> Ints:
    """The same groups, numbered in the order of their first states."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse.ravel()].astype(np.int64)


def _rational(residue: int, modulus: int) -> tuple[int, int] | None:
    bound = isqrt(modulus // 2)
    r, next_r, s, next_s = modulus, residue, 0, 1
    while next_r > bound:
        quotient = r // next_r
        r, next_r = next_r, r - quotient * next_r
        s, next_s = next_s, s - quotient * next_s
    if next_s == 0 or abs(next_s) > bound:
        return None
    return next_r, next_s


def closure_basis(
    pomdp: POMDP, *, rewards: bool, tolerance: float = TOLERANCE, seed: int = 0
) -> tuple[Floats, Ints, tuple[float, float]]:
    """Q, (S, n), in floats; labels (S,) of states with the same row of Q; and the margin."""
    rng = np.random.default_rng(seed)
    quotient = coarsest(next(reductions(pomdp, rng)), rng, rewards=rewards)
    deadline.begin(FINDING_BASIS)
    operators, weights = weighted_operators(pomdp, quotient)
    size = quotient.size
    columns, scales = [weights], [weights]
    if rewards:
        # Divided by their magnitude without cancellation, so that the rounding of zero stays small.
        columns += [c * weights for c in pomdp.R[quotient.first].T]
        scales += [c * weights for c in reward_magnitudes(pomdp)[quotient.first].T]
    lengths = [float(np.linalg.norm(scale)) for scale in scales]
    start = np.stack([c / n for c, n in zip(columns, lengths, strict=True) if n > 0], axis=1)
    blocks = [operators[first : first + size] for first in range(0, operators.shape[0], size)]
    norms = [float(np.linalg.norm(block.data)) for block in blocks]

    def images(fresh: Floats) -> Floats:
        """Random mixtures of all images, few columns with the same span."""
        count = fresh.shape[1]
        mixed = np.zeros((size, size))
        for block, norm in zip(blocks, norms, strict=True):
            if norm > 0:
                deadline.check(2 * size * size * count)
                mixed += block @ (fresh @ rng.normal(size=(count, size))) / norm
        return mixed / np.sqrt(count)

    basis, margin = close(start, images, tolerance)
    over_states = (basis / weights[:, None])[quotient.labels]
    close_rows = np.unique(np.round(over_states / TOLERANCE), axis=0, return_inverse=True)[1]
    return over_states, _renumbered(close_rows.ravel()), margin


def rewards_in_span(pomdp: POMDP, basis: Floats) -> Bools:
    """(A,): whether R[:,a] lies in the span of Q, relative to its size without cancellation."""
    sizes = np.linalg.norm(reward_magnitudes(pomdp), axis=0)
    left = np.linalg.norm(pomdp.R - basis @ (basis.T @ pomdp.R), axis=0)
    return left <= TOLERANCE * sizes


def leak(pomdp: POMDP, basis: Floats, seed: int = 0) -> float:
    """The distance from the span of a unit vector moved by an operator divided by its norm.

    The largest over all operators and a few random vectors: an estimate, not a bound.
    """
    probes = np.random.default_rng(seed).normal(size=(basis.shape[1], _PROBES))
    inside = basis @ (probes / np.linalg.norm(probes, axis=0))
    processes = [process for row in pomdp.D for process in row if process.nnz > 0]
    together = max(1, _LARGE_BLOCK // inside.size)  # one product with Q for many operators
    worst = 0.0
    for first in range(0, len(processes), together):
        deadline.check()
        part = processes[first : first + together]
        moved = np.hstack([(d / _norm(d)) @ inside for d in part])
        outside = moved - basis @ (basis.T @ moved)
        worst = max(worst, float(np.linalg.norm(outside, axis=0).max()))
    return worst


def _norm(process: Sparse) -> float:
    """The Frobenius norm, correct even if squares of rare probabilities underflow."""
    size = float(process.data.max())
    return size * float(np.linalg.norm(process.data / size))
