"""Points, which are mixtures of corners: their best one-step plans and their successors."""

from __future__ import annotations

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.kernels import njit
from rpsr.planning.corners.covering import pick, sums
from rpsr.planning.corners.moves import Moves
from rpsr.planning.corners.simplex_method import evaluate

LEAST_MASS = 1e-9  # less probable observations give no witness point


@njit(cache=True)
def move(moves: Moves, a: int, x: Floats, after: Floats, mass: Floats) -> None:
    """The filter step of a point x (k,), before it divides: after (O, k) and mass (O,), in place.

    `LinearModel.moved` for all observations at once, discount included. Kernels need their own:
    they cannot call a model's operators. (`belief_graph.expand` keeps the same sums sparse.)
    """
    k = len(x)
    after[:] = 0.0
    mass[:] = 0.0
    for s in range(k):
        if x[s] > 0.0:
            for entry in range(moves.indptr[a * k + s], moves.indptr[a * k + s + 1]):
                weight = x[s] * moves.chance[entry]
                after[moves.observation[entry], moves.target[entry]] += weight
                mass[moves.observation[entry]] += weight


@njit(cache=True)
def backup_points(
    moves: Moves, values: Floats, points: Floats, given: Ints, width: int, tie: float
) -> Ints:
    """The best one-step plan at each point, choices (P, width), with width = 1 + O.

    given (P,): the action to plan for, or -1 for the best. After an impossible observation
    a plan continues with the vector of the largest sum of values.
    """
    n_actions, k = moves.rewards.shape
    v = np.ascontiguousarray(values.T)
    totals = sums(v)
    default = int(np.argmax(totals))
    scores = np.empty(len(values))
    choices = np.zeros((len(points), width), dtype=np.int64)  # valid even if all values are NaN
    plan = np.empty(width, dtype=np.int64)
    after, mass = np.empty((width - 1, k)), np.empty(width - 1)
    for p in range(len(points)):
        x = points[p]
        top = -np.inf
        for a in range(n_actions):
            if given[p] >= 0 and a != given[p]:
                continue
            move(moves, a, x, after, mass)
            value = 0.0
            for s in range(k):
                if x[s] > 0.0:
                    value += x[s] * moves.rewards[a, s]
            plan[0] = a
            for o in range(1, width):
                plan[o] = default
                if mass[o - 1] > 0.0:
                    evaluate(v, len(values), after[o - 1], scores)
                    plan[o] = pick(scores, totals, 0, len(totals), tie)
                    value += scores[plan[o]]
            if value > top + tie:
                top = value
                for o in range(width):
                    choices[p, o] = plan[o]
    return choices


@njit(cache=True)
def expand(
    moves: Moves, points: Floats, actions: Ints, n_observations: int, apart: float, limit: int
) -> Floats:
    """Points (P, k) and those of their successors that are not close to others, at most `limit`.

    actions (P,): the action at each point, or -1 for all actions. Successors are added breadth
    first; new points are expanded only under all actions.
    """
    n_actions, k = moves.rewards.shape
    grown = np.empty((max(limit, len(points)), k))
    for p in range(len(points)):
        for s in range(k):
            grown[p, s] = points[p, s]
    size = len(points)
    after, mass = np.empty((n_observations, k)), np.empty(n_observations)
    for p in range(limit):
        if p >= size or size == limit or (p >= len(points) and actions[0] >= 0):
            break
        for a in range(n_actions):
            if actions[0] >= 0 and a != actions[p]:
                continue
            move(moves, a, grown[p], after, mass)
            for o in range(n_observations):
                if mass[o] <= LEAST_MASS or size == limit:
                    continue
                known = False
                for q in range(size):
                    known = True
                    for s in range(k):
                        if abs(grown[q, s] - after[o, s] / mass[o]) > apart:
                            known = False
                            break
                    if known:
                        break
                if not known:
                    for s in range(k):
                        grown[size, s] = after[o, s] / mass[o]
                    size += 1
    return grown[:size].copy()
