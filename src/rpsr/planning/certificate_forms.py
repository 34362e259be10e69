"""The forms of plans that a certificate bounds: a plan with a clock, and values above a floor.

`rpsr.certificates.bounds` says what a floor is. With a discount, the worst reward at every step is
one. Without, a policy may lose as much as the worst reward times the largest expected number of
steps before nothing can be lost any more. If that number is infinite, there is no floor.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from rpsr.certificates.exact_model import ExactModel
from rpsr.io.records import Bools, Floats, Ints
from rpsr.models.pomdp import POMDP
from rpsr.models.timed import layers_of, timed
from rpsr.planning.solution import Solution
from rpsr.planning.value.value_function import ValueFunction

SWEEPS, SETTLED = 10_000, 1e-4  # of numbers of steps; the largest change in a sweep, in steps
PARTS = 1024  # of a step, so that numbers of steps are whole
ROUNDED = 2.0**-48  # of the largest value: the rounding error of a step
MORE = 1.01  # of the number of steps: the floor must be strict


def with_clock(plan: Solution, pomdp: POMDP) -> tuple[POMDP, Solution]:
    """The POMDP that ends after the horizon, and the plan's trees as vectors over its states.

    A tree of n steps has its own values `horizon - n` steps after the start. At all other times it
    has a value that no policy is below. Values are lowered by the rounding errors of these steps.
    """
    horizon = len(plan.stages)
    ending, layers = timed(pomdp, horizon), layers_of(pomdp, horizon)
    first = np.append(0, np.cumsum([len(layer) for layer in layers]))
    discount = 1.0 if pomdp.discount is None else float(pomdp.discount)
    worst, weights = min(0.0, float(pomdp.R.min())), discount ** np.arange(horizon)
    left = horizon - np.repeat(np.arange(horizon + 1), np.diff(first))
    lowest = worst * np.append(0.0, np.cumsum(weights))[left]
    lost = ROUNDED * max(float(np.abs(stage.vectors).max()) for stage in plan.stages) * left
    family = [int((plan.stages[-1].vectors @ plan.model.start).argmax())]
    vectors, actions, successors, used = list[Floats](), list[int](), list[Ints](), 1
    for step, stage in enumerate(reversed(plan.stages)):
        after = np.unique(np.maximum(stage.successors[family], 0)) if step < horizon - 1 else None
        for k in family:
            vector = lowest.copy()
            vector[first[step] : first[step + 1]] = stage.vectors[k, layers[step]]
            vectors.append(vector - lost)
            actions.append(int(stage.actions[k]))
            chosen = np.maximum(stage.successors[k], 0)
            successors.append(
                np.zeros_like(chosen) if after is None else used + np.searchsorted(after, chosen)
            )
        family = [] if after is None else after.tolist()
        used += len(family)
    value_function = ValueFunction(np.array(vectors), np.array(actions), np.array(successors))
    return ending, replace(plan, model=ending.belief_model(), value_function=value_function)


def floor_values(model: ExactModel, steps: Floats, unit: int) -> list[int]:
    """Numbers that no policy earns less than, as multiples of 1/unit; steps: of `losing_steps`."""
    worst, n_states = _worst(model), len(model.states)
    if model.discount < 1:
        lowest = worst / (1 - model.discount) * unit
        return [lowest.numerator // lowest.denominator] * n_states
    if worst >= 0:
        return [0] * n_states
    lost = -(worst * unit / PARTS)
    per_part = -(-lost.numerator // lost.denominator) + 1
    return [-per_part * int(np.ceil(PARTS * MORE * count)) for count in steps.tolist()]


def _worst(model: ExactModel) -> Fraction:
    """The least reward."""
    return min(min(rewards) for rewards in model.rewards)


def losing_steps(model: ExactModel) -> Floats | None:
    """The largest expected number of steps before nothing can be lost; None if it is infinite.

    With a discount, or without losses, the floor does not need it: 0.
    """
    n_actions, n_states = len(model.actions), len(model.states)
    if model.discount < 1 or _worst(model) >= 0:
        return np.zeros(n_states)
    cells = [
        (a * n_states + s, target, weight / total)
        for a, rows in enumerate(model.rows)
        for s, (total, row) in enumerate(rows)
        for _, target, weight in row
    ]
    rows, columns, shares = map(np.array, zip(*cells, strict=True))
    moves = sp.coo_array((shares, (rows, columns)), (n_actions * n_states, n_states)).tocsr()
    safe = np.array([all(r[s] >= 0 for r in model.rewards) for s in range(n_states)])
    safe = _closed(moves, safe)
    steps = np.zeros(n_states)
    for _ in range(SWEEPS):
        ahead = 1.0 + np.asarray(moves @ steps).reshape(n_actions, n_states).max(axis=0)
        fresh = np.where(safe, 0.0, ahead)
        change, steps = float((fresh - steps).max()), fresh
        if change <= SETTLED:
            return steps
    return None


def _closed(moves: sp.csr_array, inside: Bools) -> Bools:
    """The states of a set that no action leaves, nor any after it."""
    while True:
        leaves = np.asarray(moves @ (~inside).astype(np.float64)).reshape(-1, len(inside)) > 0
        fewer = inside & ~leaves.any(axis=0)
        if fewer.sum() == inside.sum():
            return inside
        inside = fewer
