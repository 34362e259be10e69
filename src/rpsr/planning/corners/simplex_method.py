"""The small linear program of exact planning, compiled: the largest gain of w over a set.

With values at the corners s = 1..k, a vector w and vectors u_1 .. u_N,

    max over mixtures x of corners of  w.x - max_i u_i.x
      =  min over mixtures lambda of vectors of  max_s (w - sum_i lambda_i u_i)(s).

The right side is solved by a revised simplex: minimise y subject to

    y + sum_i lambda_i u_i(s) - z_s = w(s) for every corner s, sum_i lambda_i = 1, lambda, z >= 0.

Its basis has k + 1 rows for any N. y is always basic and alone has a cost, so the multipliers
are one row of the basis inverse: a point x, and pricing is evaluating every vector at x. A single
vector and the corner where w exceeds it most are a feasible start. Every iterate is feasible, so y
is always an upper bound, and the search may stop as soon as it is low enough.

Precision. Columns are centred on the starting vector, near w, and scaled by their spread, so
that the basis contains differences, not values. The ratio test is Harris's in two passes
(near-parallel vectors), Bland's rule breaks cycles, and the inverse is recomputed if the answer is
not certified. In any case the bounds are recomputed from the answer: `mix` gives the upper bound
max_s (w - sum mix_i u_i)(s), the point gives the lower bound w.x - max_i u_i.x. Both hold up to the
rounding of these two expressions, independent of errors before.

References: Harris, Pivot selection methods of the Devex LP code, Math. Programming 5 (1973);
Bland, New finite pivoting rules for the simplex method, Math. of OR 2 (1977).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.kernels import njit

SIGN = 1e-13  # relative size below which a number counts as zero
GAIN = 4e-16  # of the largest value: a smaller gain by a pivot may be rounding (no bound needs it)
PATIENCE = 30  # degenerate pivots before Bland's rule
RETRIES = 2  # recomputations of the inverse for an uncertified answer
Y = -1  # the free variable in a list of basic variables; slack s is -2 - s, vector i is i
CHOSEN, BASIS = range(2)  # rows of `Workspace.labels`
MIX, VALUES, RHS, COLUMN, STEP = range(5)  # rows of `Workspace.numbers`


class Workspace(NamedTuple):
    """Memory for one program over k corners and N vectors, to be reused.

    point (k,) of the answer. labels (2, k + 1): CHOSEN, vectors of the answer, and BASIS. numbers
    (5, k + 1): MIX, the weights of the chosen vectors, and scratch. inverse and work (k + 1,
    k + 1). scores (N,). Few arrays, because a compiled call counts references to each of them.
    """

    point: Floats
    labels: Ints
    numbers: Floats
    inverse: Floats
    work: Floats
    scores: Floats


@njit(cache=True)
def workspace(k: int, vectors: int) -> Workspace:
    """Memory for programs over k corners and at most this many vectors."""
    size = k + 1
    return Workspace(
        np.zeros(k),  # the answer of a program that ends early
        np.empty((2, size), np.int64),
        np.empty((5, size)),
        np.empty((size, size)),
        np.empty((size, size)),
        np.empty(vectors),
    )


@njit(cache=True)
def worst_excess(u: Floats, count: int, w: Floats, scores: Floats) -> int:
    """Fill scores[i] with max_s (w - u_i)(s); the vector whose worst excess is least."""
    for i in range(count):
        scores[i] = w[0] - u[0, i]
    for s in range(1, len(w)):
        for i in range(count):
            scores[i] = max(scores[i], w[s] - u[s, i])
    best = 0
    for i in range(1, count):
        if scores[i] < scores[best]:
            best = i
    return best


@njit(cache=True)
def evaluate(u: Floats, count: int, x: Floats, scores: Floats) -> None:
    """Fill scores[i] with u_i.x."""
    for i in range(count):
        scores[i] = 0.0
    for s in range(len(x)):
        weight = x[s]
        if weight != 0.0:
            for i in range(count):
                scores[i] += weight * u[s, i]


@njit(cache=True)
def mixture_bound(u: Floats, w: Floats, chosen: Ints, mix: Floats, size: int) -> float:
    """The largest of w minus the mixture of the chosen vectors, over the corners."""
    bound = -np.inf
    for s in range(len(w)):
        excess = 0.0
        for j in range(size):  # mix sums to one: centring by w avoids cancellation
            excess += mix[j] * (w[s] - u[s, chosen[j]])
        bound = max(bound, excess)
    return bound


@njit(cache=True)
def column_of(u: Floats, variable: int, ref: int, spread: float, column: Floats) -> None:
    """The constraint column of a variable, vectors centred on u_ref and divided by spread."""
    k = len(column) - 1
    if variable >= 0:
        for s in range(k):
            column[s] = (u[s, variable] - u[s, ref]) / spread
        column[k] = 1.0
    else:
        for s in range(k):
            column[s] = 1.0 if variable == Y else 0.0
        column[k] = 0.0
        if variable != Y:
            column[-2 - variable] = -1.0


@njit(cache=True)
def invert(u: Floats, ref: int, spread: float, space: Workspace) -> bool:
    """The inverse of the basis from scratch, by elimination with partial pivoting.

    False if the basis is singular.
    """
    basis, inverse, work = space.labels[BASIS], space.inverse, space.work
    column = space.numbers[COLUMN]
    size = len(basis)
    for j in range(size):
        column_of(u, basis[j], ref, spread, column)
        for r in range(size):
            work[r, j] = column[r]
            inverse[r, j] = 1.0 if r == j else 0.0
    for j in range(size):
        pivot = j
        for r in range(j + 1, size):
            if abs(work[r, j]) > abs(work[pivot, j]):
                pivot = r
        if work[pivot, j] == 0.0:
            return False
        for c in range(size):
            work[j, c], work[pivot, c] = work[pivot, c], work[j, c]
            inverse[j, c], inverse[pivot, c] = inverse[pivot, c], inverse[j, c]
        scale = 1.0 / work[j, j]
        for c in range(size):
            work[j, c] *= scale
            inverse[j, c] *= scale
        for r in range(size):
            factor = work[r, j]
            if r != j and factor != 0.0:
                for c in range(size):
                    work[r, c] -= factor * work[j, c]
                    inverse[r, c] -= factor * inverse[j, c]
    return True


@njit(cache=True)
def simplex(
    u: Floats,
    count: int,
    ref: int,
    spread: float,
    least: float,
    cutoff: float,
    space: Workspace,
) -> int:
    """Pivot from a feasible basis to an optimal one, or until y <= cutoff; the number of pivots.

    ref, spread: columns are centred on vector `ref` and divided by `spread`. least: a smaller gain
    of a vector at a point is rounding. The basis, its inverse and the basic values are updated.
    """
    basis, inverse, scores = space.labels[BASIS], space.inverse, space.scores
    values, column, step_column = space.numbers[VALUES], space.numbers[COLUMN], space.numbers[STEP]
    size = len(basis)
    k = size - 1
    slot = 0
    while basis[slot] != Y:
        slot += 1
    stalled = 0
    limit = 50 * (size + 10)
    for pivots in range(limit):
        if values[slot] <= cutoff:
            return pivots
        x = inverse[slot]
        # Pricing: the best vector at x, or a corner of negative weight.
        evaluate(u, count, x[:k], scores)
        threshold = scores[ref] - x[k] * spread
        entering = -1
        gain = least
        bland = stalled > PATIENCE
        for i in range(count):
            if scores[i] - threshold > gain:
                gain = scores[i] - threshold
                entering = i
                if bland:
                    break
        if not (bland and entering >= 0):
            gain = max(gain, 0.0) if entering >= 0 else 0.0
            for s in range(k):
                if x[s] < -SIGN and -x[s] * spread > gain:
                    gain = -x[s] * spread
                    entering = -2 - s
                    if bland:
                        break
        if entering == -1:
            return pivots
        if entering >= 0:
            column_of(u, entering, ref, spread, column)
            for r in range(size):
                total = 0.0
                for c in range(size):
                    total += inverse[r, c] * column[c]
                step_column[r] = total
        else:
            for r in range(size):
                step_column[r] = -inverse[r, -2 - entering]
        # Harris's ratio test.
        largest = 0.0
        for r in range(size):
            largest = max(largest, abs(step_column[r]))
        small = SIGN * largest
        bound = np.inf
        for r in range(size):
            if r != slot and step_column[r] > small:
                bound = min(bound, (max(values[r], 0.0) + SIGN) / step_column[r])
        leaving = -1
        for r in range(size):
            if r != slot and step_column[r] > small and values[r] <= bound * step_column[r]:
                if leaving < 0:
                    leaving = r
                elif bland:
                    if basis[r] < basis[leaving]:
                        leaving = r
                elif step_column[r] > step_column[leaving]:
                    leaving = r
        if leaving < 0:
            return pivots
        step = max(values[leaving], 0.0) / step_column[leaving]
        before = values[slot]
        for r in range(size):
            values[r] -= step * step_column[r]
        values[leaving] = step
        stalled = stalled + 1 if before - values[slot] <= SIGN else 0
        scale = 1.0 / step_column[leaving]
        for c in range(size):
            inverse[leaving, c] *= scale
        for r in range(size):
            factor = step_column[r]
            if r != leaving and factor != 0.0:
                for c in range(size):
                    inverse[r, c] -= factor * inverse[leaving, c]
        basis[leaving] = entering
    return limit


@njit(cache=True)
def best_gain(
    u: Floats,
    count: int,
    w: Floats,
    ref: int,
    cutoff: float,
    tolerance: float,
    space: Workspace,
) -> tuple[float, float, int]:
    """Bounds of max_x (w.x - max_i u_i.x) over mixtures x of corners: (upper, lower, size).

    u (k, at least N): vectors as columns, the first `count` of them, one or more; w (k,). ref: the
    vector to begin with, whose `worst_excess` is above the cutoff, or else there is no need to ask.
    cutoff: stop once the upper bound is this low. tolerance: the largest gap of a good answer.
    Filled: space.point, where the lower bound is attained; CHOSEN and MIX, of which the first
    `size` are the vectors and weights that prove the upper bound.
    If upper > cutoff and upper - lower > tolerance, the program was not solved: its bounds hold but
    are loose.
    """
    k = len(w)
    point, labels, numbers, inverse, _, scores = space
    chosen, basis = labels[CHOSEN], labels[BASIS]
    mix, values, rhs = numbers[MIX], numbers[VALUES], numbers[RHS]
    spread = 0.0  # max |w - u_ref|
    magnitude = 0.0
    for s in range(k):
        spread = max(spread, abs(w[s] - u[s, ref]))
        magnitude = max(magnitude, abs(u[s, ref]), abs(w[s]))
    spread = spread if spread > 0.0 else 1.0
    top = 0
    for s in range(k):
        rhs[s] = (w[s] - u[s, ref]) / spread
        if rhs[s] > rhs[top]:
            top = s
    rhs[k] = 1.0
    for r in range(k + 1):
        for c in range(k + 1):
            inverse[r, c] = 0.0
    for s in range(k):
        inverse[s, top] = 1.0
        if s != top:
            inverse[s, s] = -1.0
        basis[s] = Y if s == top else -2 - s
        values[s] = rhs[top] if s == top else rhs[top] - rhs[s]
    inverse[k, k] = 1.0
    basis[k] = ref
    values[k] = 1.0
    upper, lower, size = np.inf, -np.inf, 1
    for attempt in range(RETRIES + 1):
        simplex(u, count, ref, spread, GAIN * magnitude, cutoff / spread, space)
        size = int(np.int64(0))  # numba would compile the callees again for a literal
        total = 0.0
        for r in range(k + 1):
            if basis[r] >= 0 and values[r] > 0.0:
                chosen[size] = basis[r]
                mix[size] = values[r]
                total += values[r]
                size += 1
        for j in range(size):
            mix[j] /= total
        upper = mixture_bound(u, w, chosen, mix, size)
        if upper <= cutoff:
            return upper, -np.inf, size
        slot = 0
        while basis[slot] != Y:
            slot += 1
        total = 0.0
        for s in range(k):
            point[s] = max(inverse[slot, s], 0.0)
            total += point[s]
        lower = 0.0
        for s in range(k):
            point[s] /= total
            lower += point[s] * w[s]
        evaluate(u, count, point, scores)
        highest = scores[0]
        for i in range(1, count):
            highest = max(highest, scores[i])
        lower -= highest
        if upper - lower <= tolerance or attempt == RETRIES:
            break
        if not invert(u, ref, spread, space):
            break
        for r in range(k + 1):
            total = 0.0
            for c in range(k + 1):
                total += inverse[r, c] * rhs[c]
            values[r] = total
    return upper, lower, size
