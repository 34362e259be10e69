"""What rounding may hide: each lemma once, u = 2^-53 being the unit roundoff of floats.

An operation on floats gives the exact result times 1 + d, |d| <= u, unless it underflows. A product
of k such factors, or of their inverses, differs from 1 by at most

    gamma(k) = k u / (1 - k u) <= 2 k u                             for k u <= 1/2.   (*)

**Products.** Let x_i and y_i, i < m, be numbers, each of which was rounded to a float once or is
one. Unless a product underflows, the sum of the products of the floats, in whatever order it is
computed, with or without fused operations, differs from sum_i x_i y_i by at most `products(m)`
times sum_i |x_i y_i|.
*Proof.* The i-th term carries at most two factors 1 + d for its numbers, one for its product and
m - 1 for the additions that it goes through: m + 2 in all, and (*) does the rest.
A sum of m floats is the case y = 1; a product of two matrices is one such sum for each entry; a sum
of products of three such numbers has two factors more for each term, as if m were larger by two.

**Row sums.** If m floats >= 0 are the entries of a distribution, each rounded once, their computed
sum differs from 1 by at most `row_sum(m)`. *Proof.* A term carries one factor for its rounding and
m - 1 for additions; the terms add up to 1, so the sum is off by at most gamma(m), which is below
(m + 1) u as long as m (m + 1) u <= 1.

**Expectations.** The expected value sum_i p_i q_i v_i / (P Q) of m outcomes, p and q being floats
of rows that were left as they were because their computed sums are one up to `row_sum`, the row of
p having at most m entries and that of q at most n, v being floats: computed without dividing by the
rows' sums P and Q, it is off by at most `expectations(m, n)` times sum_i |p_i q_i v_i|.
*Proof.* A term carries two factors for its products and m - 1 for additions. A computed sum of m
floats is off by m u at most, so that P is 1 up to (2 m + 1) u, and Q up to (2 n + 1) u. In all
k = 3 m + 2 n + 3 factors; gamma(k) is below (k + 1) u as long as k (k + 1) u <= 1, and 4 u are left
for the roundings of the margin itself.

Bounds are relative to sums of absolute values: where terms cancel, nothing smaller can be said.
Margins are computed in floats themselves, whose few roundings the slack in (*) covers: gamma(k) is
at most (1 + 2 k u) k u, about half of 2 k u.
"""

from __future__ import annotations

import numpy as np

from rpsr.io.records import Floats, Ints

UNIT = 2.0**-53  # rounding a number to a float is off by at most this, relatively


def products(terms: int) -> float:
    """How far a sum of this many products may be off, of the sum of their absolute values."""
    return 2 * (terms + 2) * UNIT


def expectations(terms: Ints, entries: int) -> Floats:
    """How far expected values of so many outcomes may be off, of the sum of absolute values.

    entries: of an emission's row, at most.
    """
    return np.asarray((3 * terms + 2 * entries + 8) * UNIT, dtype=np.float64)


def row_sum(entries: Ints) -> Floats:
    """How far the sums of distributions with this many entries may be from 1, (rows,)."""
    return np.asarray((entries + 1) * UNIT, dtype=np.float64)
