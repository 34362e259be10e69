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

**Chains.** Let numbers be computed sums of m products, their factors computed sums of m' products,
and so on. The result differs from the exact one by at most `chained(m, m', ...)` times the same
sums of absolute values. *Proof.* A term carries the factors of all sums, and gamma(j) + gamma(k) +
gamma(j) gamma(k) <= gamma(j + k). So `products` add up.

**Weighted means.** The computed value of sum_i w_i y_i / sum_i |w_i|, i < m, with floats w_i and
numbers y_i that are each rounded once, such as differences of two floats, is off by at most
`weighted_mean(m)` times max |y_i|. *Proof.* A term carries a factor for y_i, m for its product and
the additions, one for the division, and m - 1 for the sum of weights, in any order of these
operations: 2 m + 1 in all. Twice `products(m)` covers 2 m + 4.

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

**Backups.** Let b = r + g sum_i t_i z_i v_i be the value of a reward r and m outcomes i, where t_i
is the probability of a next state and z_i that of an observation there, g <= 1 is a float, and the
floats v_i are at most S in absolute value, as is r or b. Rewards and probabilities are floats that
were rounded from those meant; or the row of t has at most k floats, the rows of z at most n, their
computed sums are 1 up to `row_sum`, and rows divided by their sums are meant. Outcomes with equal v
(at most k of them each) may be added up first, so that c of k corners are left. Then b is computed
up to `one_backup(m, k, n, c)` S.
*Proof.* As for expectations, a row contributes 2 k + 1 factors, its emissions 2 n + 1. With three
products, k - 1 additions of equal outcomes and the product with v, a term has at most 3 k + 2 n + 5
factors before it is added: the terms are off by gamma(3 k + 2 n + 5) S in all, and r by u |r| <=
2 u S. Each of the m additions gives a part of the sum, or r and a part of it, which is b less the
rest: at most 2 S, and it adds u times that. In all that is below (2 m + 3 k + 2 n + 8) u S as long
as the squares of these counts are below 1 / u; `one_backup` has 2 m + 2 n + 32 + 4 c, or
2 m + 2 n + 11 + 3 k if that is more. It is also above the error of a weighted mean of c + 1
differences of two such v, below (4 c + 8) u S by that lemma's count, and of a mixture of c values.

**Steps.** Let x be the state of a linear model with n coordinates, which are not negative, nor are
its operators. The one-step value x R[:, a] + g sum_o P(o | x, a) v_o, |v_o| <= S, of a model as for
backups is computed up to `one_step(n, O, k)` times S + sum_i |x_i R_ia|. k: the number of states of
a POMDP whose operators D were turned into Q^T D Q; 0 if x is a belief.
*Proof.* For a belief, the rows contribute 2 n + 2 O + 2 factors and their product one, x M and its
sum 2 n, and discount, v and the additions O + 2: 4 n + 3 O + 5 in all; there are 4 n + 4 O + 8. In
the other case the rows contribute 2 k + 2 O + 3, Q^T D Q at most 2 k + 4, the rounded Q and its
products with 1 another k + 2; there are 6 k + 12 more.

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


def chained(*terms: int) -> float:
    """A bound on the error of sums of products of sums, each of this many products."""
    return sum(products(count) for count in terms)


def weighted_mean(terms: int) -> float:
    """A bound on the error of a mean with computed weights, relative to the largest number."""
    return chained(terms, terms)


def one_backup(outcomes: int, corners: int, observations: int, kept: int) -> float:
    """A bound on the error of one backup or mixture of corners, relative to the largest value.

    outcomes: of a corner and an action, at most. corners: of the model. kept: those that are left
    after equal ones were merged.
    """
    return products(outcomes + observations + max(2 * kept + 14, 3 * corners // 2 + 4))


def one_step(dimension: int, observations: int, corners: int = 0) -> float:
    """A bound on the error of a one-step value at a state, relative to values and rewards.

    corners: of a PSR or an R-PSR; 0 for beliefs.
    """
    turned = chained(corners, corners, corners) if corners else 0.0
    return chained(dimension + observations, dimension + observations) + turned


def expectations(terms: Ints, entries: int) -> Floats:
    """A bound on the error of expected values, relative to sum_i |p_i q_i v_i|.

    p_i, q_i: the probabilities of the next state and of the observation of outcome i; v_i: its
    value. terms: the numbers of outcomes. entries: the largest number of entries in a row of
    observation probabilities.
    """
    return np.asarray((3 * terms + 2 * entries + 8) * UNIT, dtype=np.float64)


def row_sum(entries: Ints) -> Floats:
    """A bound on the deviation from 1 of sums of this many probabilities, (rows,)."""
    return np.asarray((entries + 1) * UNIT, dtype=np.float64)
