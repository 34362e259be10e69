"""Bounds on rounding errors, one lemma each; u = 2^-53 is the unit roundoff of floats.

An operation on floats gives the exact result times 1 + d, |d| <= u, unless it underflows. A product
of k such factors, or of their inverses, differs from 1 by at most

    gamma(k) = k u / (1 - k u) <= 2 k u                             for k u <= 1/2.   (*)

**Products.** Let x_i and y_i, i < m, be numbers, each a float or rounded to one. Unless a product
underflows, the computed sum of the products of the floats, in any order, with or without fused
operations, differs from sum_i x_i y_i by at most `products(m)` times sum_i |x_i y_i|.
*Proof.* The i-th term carries at most two factors 1 + d for its numbers, one for its product and
m - 1 for additions: m + 2 in all. Apply (*).
A sum of m floats is the case y = 1; a product of two matrices is one such sum for each entry; a sum
of products of three such numbers has two more factors per term, as if m were larger by two.

**Row sums.** If m floats >= 0 are the entries of a distribution, each rounded once, their computed
sum differs from 1 by at most `row_sum(m)`. *Proof.* A term carries one factor for its rounding and
m - 1 for additions; the terms add up to 1, so the sum is off by at most gamma(m), which is below
(m + 1) u as long as m (m + 1) u <= 1.

**Expectations.** Let E = sum_i p_i q_i v_i / (P Q) be the expected value of m outcomes, where p, q
and v are floats, the row of p has at most m entries and sum P, that of q at most n entries and sum
Q, and the computed sums of both rows are 1 up to `row_sum`. Computed without dividing by P and Q, E
is off by at most `expectations(m, n)` times sum_i |p_i q_i v_i|.
*Proof.* A term carries two factors for its products and m - 1 for additions. A computed sum of m
floats is off by m u at most, so that P is 1 up to (2 m + 1) u, and Q up to (2 n + 1) u. In all
k = 3 m + 2 n + 3 factors; gamma(k) is below (k + 1) u as long as k (k + 1) u <= 1, and 4 u are left
for the roundings of the margin itself.

Bounds are relative to sums of absolute values: if terms cancel, no smaller bound holds.
Margins are computed in floats themselves, whose few roundings the slack in (*) covers: gamma(k) is
at most (1 + 2 k u) k u, about half of 2 k u.
"""

from __future__ import annotations

import numpy as np

from rpsr.io.records import Floats, Ints

UNIT = 2.0**-53  # rounding a number to a float is off by at most this, relatively


def products(terms: int) -> float:
    """A bound on the error of a sum of this many products, relative to sum |x_i y_i|."""
    return 2 * (terms + 2) * UNIT


def expectations(terms: Ints, entries: int) -> Floats:
    """A bound on the error of expected values of this many outcomes, relative to sum |p q v|.

    entries: the largest number of entries in a row of emissions.
    """
    return np.asarray((3 * terms + 2 * entries + 8) * UNIT, dtype=np.float64)


def row_sum(entries: Ints) -> Floats:
    """A bound on the deviation from 1 of sums of this many probabilities, (rows,)."""
    return np.asarray((entries + 1) * UNIT, dtype=np.float64)
