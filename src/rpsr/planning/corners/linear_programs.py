"""The largest gain of a vector over a set of vectors: one certified linear program.

`gain` uses the compiled kernel (see `simplex_method`) and, if its answer is not certified, HiGHS.
In both cases the returned bounds are recomputed from the answer, not taken from the solver.
"""

from __future__ import annotations

from dataclasses import dataclass

import highspy
import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.planning.corners.simplex_method import CHOSEN, MIX, best_gain, workspace, worst_excess

RELATIVE = 1e-12  # of the largest value: a program with bounds closer than this is solved


@dataclass(frozen=True, eq=False)
class Gain:
    """Bounds of max_x (w.x - max_i u_i.x), and their witnesses.

    point (k,): attains the lower bound. chosen (m,) and mix (m,): the mixture of vectors that
    proves the upper one. careful: whether HiGHS was used.
    """

    upper: float
    lower: float
    point: Floats
    chosen: Ints
    mix: Floats
    careful: bool


def gain(vectors: Floats, w: Floats, *, cutoff: float = -np.inf) -> Gain:
    """The largest amount by which w (k,) exceeds the maximum of vectors (N, k), and where.

    cutoff: the search stops once the upper bound is this low.
    """
    u, k = np.ascontiguousarray(vectors.T), len(w)
    space = workspace(k, len(vectors))
    tolerance = RELATIVE * float(max(np.abs(vectors).max(), np.abs(w).max()))
    near = worst_excess(u, len(vectors), w, space.scores)
    if (upper := float(space.scores[near])) <= cutoff:
        return Gain(upper, -np.inf, space.point, np.array([near]), np.ones(1), False)
    upper, lower, size = best_gain(u, len(vectors), w, near, cutoff, tolerance, space)
    chosen, mix = space.labels[CHOSEN, :size], space.numbers[MIX, :size]
    answer = Gain(upper, lower, space.point, chosen, mix, False)
    if upper <= cutoff or upper - lower <= tolerance:
        return answer
    return tighter(answer, careful_gain(vectors, w))


def tighter(first: Gain, second: Gain) -> Gain:
    """The better of two answers to one program."""
    above = first if first.upper <= second.upper else second
    below = first if first.lower >= second.lower else second
    return Gain(above.upper, below.lower, below.point, above.chosen, above.mix, True)


def careful_gain(vectors: Floats, w: Floats) -> Gain:
    """The same by HiGHS, with values centred and scaled: slow, and independent of the kernel."""
    count, k = vectors.shape
    excess = w - vectors  # (N, k)
    scale = float(np.abs(excess).max()) or 1.0
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    for option in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
        highs.setOptionValue(option, 1e-10)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = count + 1, k + 1
    lp.col_cost_ = np.append(np.zeros(count), 1.0)  # minimise y >= excess mixed by lambda
    lp.col_lower_ = np.append(np.zeros(count), -highspy.kHighsInf)
    lp.col_upper_ = np.full(count + 1, highspy.kHighsInf)
    lp.row_lower_ = np.append(np.zeros(k), 1.0)
    lp.row_upper_ = np.append(np.full(k, highspy.kHighsInf), 1.0)
    matrix = np.vstack(
        [
            np.hstack([-excess.T / scale, np.ones((k, 1))]),
            np.append(np.ones(count), 0.0),
        ]
    )
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.arange(k + 2) * (count + 1)
    lp.a_matrix_.index_ = np.tile(np.arange(count + 1), k + 1)
    lp.a_matrix_.value_ = matrix.ravel()
    highs.passModel(lp)
    highs.run()
    solution = highs.getSolution()
    weights = np.maximum(np.array(solution.col_value[:count]), 0.0)
    x = np.maximum(np.array(solution.row_dual[:k]), 0.0)
    if not weights.sum() > 0:
        weights = np.ones(count)
    if not x.sum() > 0:
        x = np.ones(k)
    weights, x = weights / weights.sum(), x / x.sum()
    chosen = np.flatnonzero(weights)
    return Gain(
        upper=float((weights[chosen] @ excess[chosen]).max()),
        lower=float((excess @ x).min()),
        point=x,
        chosen=chosen,
        mix=weights[chosen],
        careful=True,
    )
