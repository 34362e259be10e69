"""Compiled loops over residues: sparse products and incremental elimination modulo a prime p.

All arrays are int64 with entries in [0, p), p < 2^31. A product of residues stays below 2^62; sums
of products are kept in two halves of 32 bits, which cannot overflow for vectors shorter than 2^31,
or reduced as they grow. Each kernel has its plain Python version as `.py_func`, the oracle of its
tests.

The annihilator trick. To reject a candidate c it is enough to know that c lies in the span V of the
rows accepted so far. Reducing c by r rows of length n costs r n; but with a random y from the
annihilator {y : v.y = 0 for all v in V} it costs one product of length n: c.y = 0 if c is in V, and
otherwise c.y is a uniform residue, zero with probability 1/p. With two such y, kept up to date, a
wrong rejection has probability p^-2, and a wrong acceptance is impossible. When a row e with pivot
k (e[k] = 1, zero at older pivots) is accepted, take the v with v[k] = 1 that is orthogonal to the
older rows and zero elsewhere off their pivots; then e.v = 1, and y - (e.y) v annihilates the larger
span. If y was uniform in the old annihilator, then so is the new one in its own: its entries off
the pivots, which determine it, are those of y without the k-th, independent and uniform.
"""

from __future__ import annotations

import numpy as np

from rpsr.io.records import Bools, Ints
from rpsr.kernels import njit


@njit(cache=True)
def dot(x: Ints, y: Ints, p: int) -> int:
    """x.y modulo p."""
    low = np.int64(0)
    high = np.int64(0)
    for i in range(len(x)):
        product = x[i] * y[i]
        low += product & 0xFFFFFFFF
        high += product >> 32
    return int(((high % p) * ((1 << 32) % p) + low) % p)


@njit(cache=True)
def subtract_multiple(x: Ints, factor: int, y: Ints, p: int) -> None:
    """x -= factor * y modulo p, in place.

    Shoup's multiplication: with g = floor(f 2^32 / p), f y - p floor(g y / 2^32) lies in [0, 2p).
    The masks tell the compiler that 32-bit multiplications suffice, which lets it use vectors.
    """
    f = ((p - factor) % p) & 0xFFFFFFFF
    g = ((f << 32) // p) & 0xFFFFFFFF
    for i in range(len(x)):
        v = y[i] & 0xFFFFFFFF
        value = x[i] + f * v - ((g * v) >> 32) * p - p  # in [-p, 2p)
        value += p & (value >> 63)  # a shift by 63 is -1 for negative values and 0 otherwise
        value -= p
        value += p & (value >> 63)
        x[i] = value


@njit(cache=True)
def products(
    indptr: Ints, indices: Ints, values: Ints, vectors: Ints, first: int, last: int, p: int
) -> Ints:
    """Sparse operators first..last-1, stacked as CSR rows, times each of F vectors (F, n).

    Returns ((last - first) * F, n), operator by operator and, within each, vector by vector.
    Sums stay below p^2 < 2^62; their quotient by p, guessed in floats, is off by one at most, which
    is several times faster than an integer division.
    """
    count, n = vectors.shape
    square = p * p
    reciprocal = 1.0 / p
    out = np.zeros(((last - first) * count, n), dtype=np.int64)
    for operator in range(first, last):
        for f in range(count):
            row = (operator - first) * count + f
            for s in range(n):
                total = np.int64(0)
                for k in range(indptr[operator * n + s], indptr[operator * n + s + 1]):
                    total += values[k] * vectors[f, indices[k]] - square
                    total += square & (total >> 63)
                total -= np.int64(total * reciprocal) * p
                total += p & (total >> 63)
                total -= p
                total += p & (total >> 63)
                out[row, s] = total
    return out


@njit(cache=True)
def outside(block: Ints, tests: Ints, p: int) -> Bools:
    """(B,): which rows of the block (B, n) have a non-zero product with a test vector (2, n)."""
    is_outside = np.zeros(len(block), dtype=np.bool_)
    for b in range(len(block)):
        for t in range(len(tests)):
            if dot(block[b], tests[t], p) != 0:
                is_outside[b] = True
                break
    return is_outside


@njit(cache=True)
def absorb(block: Ints, rows: Ints, pivots: Ints, rank: int, tests: Ints, p: int) -> Bools:
    """Add the rows of a block (B, n), in order, to an echelon basis; (B,) which were independent.

    rows (n, n): the first `rank` are the basis, each 1 at its pivot and 0 at the older pivots.
    pivots (n,): their pivot columns. tests (2, n): random vectors of the annihilator.
    All three are updated.
    """
    n = block.shape[1]
    taken = np.zeros(len(block), dtype=np.bool_)
    for b in range(len(block)):
        if rank == n:
            break
        if not outside(block[b : b + 1], tests, p)[0]:
            continue
        row = rows[rank]
        row[:] = block[b]
        for j in range(rank):
            if row[pivots[j]] != 0:
                subtract_multiple(row, row[pivots[j]], rows[j], p)
        k = 0
        while row[k] == 0:
            k += 1
        inverse = inverse_of(row[k], p)
        for s in range(n):
            row[s] = row[s] * inverse % p
        direction = np.zeros(n, dtype=np.int64)
        direction[k] = 1
        for j in range(rank - 1, -1, -1):
            direction[pivots[j]] = (p - dot(rows[j], direction, p)) % p
        for t in range(len(tests)):
            subtract_multiple(tests[t], dot(row, tests[t], p), direction, p)
        pivots[rank] = k
        rank += 1
        taken[b] = True
    return taken


@njit(cache=True)
def inverse_of(residue: int, p: int) -> int:
    """The inverse of a non-zero residue, by Fermat: residue^(p-2)."""
    result = 1
    base = residue
    exponent = p - 2
    while exponent > 0:
        if exponent & 1:
            result = result * base % p
        base = base * base % p
        exponent >>= 1
    return result
