"""Policy-iteration steps on witness points: most of the way to V*, before anything is proven.

V is kept as a finite-state controller: each vector has an action and, for every observation, the
vector it goes on with. A step backs V up at every witness point, keeps each new vector's action but
lets it go on with whichever new vectors are best from its point, and evaluates the controller so
made by a number of sweeps. Whatever the number, each vector stays the value of doing an action and
going on with vectors that are values themselves, so it is never above V*. Such a controller may be
worse than V, so the plain backups and the old vectors stand beside it: the best vector at every
point is kept, with those it goes on with, and the controller they form is swept once more.

Arrays of the process travel together as `moves` = (indptr, observation, target, chance, rewards),
see `CornerProcess`. A vector's choice is a row (1 + O,): its action and the next vectors.

Reference: Hansen, Solving POMDPs by searching in policy space, UAI (1998), for the controllers.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from rpsr.io.records import Bools, Floats, Ints
from rpsr.planning.lp_kernels import evaluate

Moves = tuple[Ints, Ints, Ints, Floats, Floats]


@njit(cache=True)
def pick(scores: Floats, totals: Floats, tie: float) -> int:
    """The index of the best score; among ties, of the largest total, then the first."""
    best = 0
    for i in range(1, len(totals)):
        if scores[i] > scores[best] + tie or (
            scores[i] >= scores[best] - tie and totals[i] > totals[best]
        ):
            best = i
    return best


@njit(cache=True)
def sums(v: Floats) -> Floats:
    """The sum of each column of v (k, K)."""
    totals = np.zeros(v.shape[1])
    for s in range(len(v)):
        for i in range(v.shape[1]):
            totals[i] += v[s, i]
    return totals


@njit(cache=True)
def backup_points(
    moves: Moves, values: Floats, points: Floats, given: Ints, width: int, tie: float
) -> Ints:
    """The best one-step plan at each point, choices (P, 1 + O), width being 1 + O.

    given (P,): the action to plan for, or -1 for the best. Where an observation cannot be made,
    a plan goes on with the vector of the largest sum of values.
    """
    indptr, observation, target, chance, rewards = moves
    n_actions, k = rewards.shape
    v = np.ascontiguousarray(values.T)
    totals = sums(v)
    default = int(np.argmax(totals))
    scores = np.empty(len(values))
    choices = np.empty((len(points), width), dtype=np.int64)
    plan = np.empty(width, dtype=np.int64)
    after, mass = np.empty((width, k)), np.empty(width)
    for p in range(len(points)):
        x = points[p]
        top = -np.inf
        for a in range(n_actions):
            if given[p] >= 0 and a != given[p]:
                continue
            after[:] = 0.0
            mass[:] = 0.0
            value = 0.0
            for s in range(k):
                if x[s] > 0.0:
                    value += x[s] * rewards[a, s]
                    for entry in range(indptr[a * k + s], indptr[a * k + s + 1]):
                        weight = x[s] * chance[entry]
                        after[1 + observation[entry], target[entry]] += weight
                        mass[1 + observation[entry]] += weight
            plan[0] = a
            for o in range(1, width):
                plan[o] = default
                if mass[o] > 0.0:
                    evaluate(v, len(values), after[o], scores)
                    plan[o] = pick(scores, totals, tie)
                    value += scores[plan[o]]
            if value > top + tie:
                top = value
                choices[p] = plan
    return choices


@njit(cache=True)
def distinct(choices: Ints) -> Ints:
    """The first of each of the distinct rows of choices (P, C), (M,)."""
    first = np.empty(len(choices), dtype=np.int64)
    key = np.empty(len(choices), dtype=np.int64)
    count = 0
    for p in range(len(choices)):
        mixed = np.int64(0)
        for c in range(choices.shape[1]):
            mixed = mixed * 1_000_003 + choices[p, c]
        known = False
        for m in range(count):
            if key[m] == mixed and (choices[first[m]] == choices[p]).all():
                known = True
                break
        if not known:
            key[count], first[count] = mixed, p
            count += 1
    return first[:count].copy()


@njit(cache=True)
def backup_of(moves: Moves, choice: Ints, values: Floats, out: Floats) -> None:
    """The value (k,) of a choice, going on with values (K, k)."""
    indptr, observation, target, chance, rewards = moves
    k = values.shape[1]
    a = choice[0]
    for s in range(k):
        total = rewards[a, s]
        for entry in range(indptr[a * k + s], indptr[a * k + s + 1]):
            total += chance[entry] * values[choice[1 + observation[entry]], target[entry]]
        out[s] = total


@njit(cache=True)
def backups(moves: Moves, choices: Ints, values: Floats) -> Floats:
    """The values (M, k) of choices (M, 1 + O), going on with values (K, k)."""
    out = np.empty((len(choices), values.shape[1]))
    for m in range(len(choices)):
        backup_of(moves, choices[m], values, out[m])
    return out


@njit(cache=True)
def sweep(moves: Moves, choices: Ints, values: Floats, sweeps: int, settled: float) -> float:
    """Gauss-Seidel evaluation of a controller, values (M, k) in place; the last largest change.

    Stops early once no value changes by more than `settled`.
    """
    fresh = np.empty(values.shape[1])  # a vector changes as a whole: half of it is nobody's value
    change = np.inf
    for _ in range(sweeps):
        change = 0.0
        for m in range(len(values)):
            backup_of(moves, choices[m], values, fresh)
            for s in range(len(fresh)):
                change = max(change, abs(fresh[s] - values[m, s]))
            values[m] = fresh
        if change <= settled:
            break
    return change


@njit(cache=True)
def excess(moves: Moves, choices: Ints, values: Floats) -> float:
    """The largest by which a vector exceeds its own backup, at any corner."""
    fresh = np.empty(values.shape[1])
    worst = -np.inf
    for m in range(len(values)):
        backup_of(moves, choices[m], values, fresh)
        for s in range(len(fresh)):
            worst = max(worst, values[m, s] - fresh[s])
    return worst


@njit(cache=True)
def cover(values: Floats, points: Floats, slack: float, wanted: Bools) -> Floats:
    """Mark vectors (K, k) until every point has one within `slack` of its best; the best, (P,)."""
    v = np.ascontiguousarray(values.T)
    scores, best = np.empty(len(values)), np.empty(len(points))
    for p in range(len(points)):
        evaluate(v, len(values), points[p], scores)
        top = int(np.argmax(scores))
        best[p] = scores[top]
        covered = False
        for i in range(len(values)):
            if wanted[i] and scores[i] >= scores[top] - slack:
                covered = True
                break
        wanted[top] |= not covered
    return best


@njit(cache=True)
def close(values: Floats, choices: Ints, slack: float, wanted: Bools) -> Ints:
    """Mark, in place, what the wanted vectors go on with; who stands in for each vector, (K,).

    A vector that a wanted one exceeds everywhere, up to `slack`, is stood in for by that one.
    """
    deputy = np.full(len(wanted), -1)
    waiting = np.empty(len(wanted), dtype=np.int64)
    size = 0
    for m in range(len(wanted)):
        if wanted[m]:
            deputy[m] = m
            waiting[size] = m
            size += 1
    while size > 0:
        size -= 1
        m = waiting[size]
        for c in range(1, choices.shape[1]):
            after = choices[m, c]
            if deputy[after] >= 0:
                continue
            for i in range(len(wanted)):
                if not wanted[i]:
                    continue
                below = True
                for s in range(values.shape[1]):
                    if values[after, s] > values[i, s] + slack:
                        below = False
                        break
                if below:
                    deputy[after] = i
                    break
            if deputy[after] < 0:
                deputy[after] = after
                wanted[after] = True
                waiting[size] = after
                size += 1
    return deputy


@njit(cache=True)
def improve(
    moves: Moves,
    values: Floats,
    choices: Ints,
    points: Floats,
    sweeps: int,
    settled: float,
    slack: float,
    tie: float,
) -> tuple[Floats, Ints, float]:
    """One step: (values, choices, the largest gain of V at a point).

    sweeps and settled: see `sweep`. slack: what a point may lose for the sake of fewer vectors.
    """
    width = choices.shape[1]
    plans = backup_points(moves, values, points, np.full(len(points), -1), width, tie)
    first = distinct(plans)
    fresh = backups(moves, plans[first], values)
    # The same actions again, going on with the new vectors: a controller that is closed.
    links = backup_points(moves, fresh, points[first], plans[first, 0], width, tie)
    closed = fresh.copy()
    sweep(moves, links, closed, sweeps, settled)
    new, old = len(fresh), len(values)
    vectors = np.empty((2 * new + old, values.shape[1]))
    vectors[:new], vectors[new : 2 * new], vectors[2 * new :] = closed, fresh, values
    every = np.empty((2 * new + old, width), dtype=np.int64)
    every[:new], every[new : 2 * new], every[2 * new :] = links, plans[first], choices
    every[new:, 1:] += 2 * new
    wanted = np.zeros(2 * new + old, dtype=np.bool_)
    after = cover(vectors, points, slack, wanted)
    before = cover(values, points, slack, np.ones(old, dtype=np.bool_))
    deputy = close(vectors, every, 1e-2 * slack, wanted)
    place = np.cumsum(wanted) - 1
    kept = np.flatnonzero(wanted)
    every = every[kept]
    for m in range(len(kept)):
        for c in range(1, width):
            every[m, c] = place[deputy[every[m, c]]]
    vectors = vectors[kept]
    sweep(moves, every, vectors, sweeps, settled)
    return vectors, every, (after - before).max()


@njit(cache=True)
def expand(
    moves: Moves, points: Floats, actions: Ints, n_observations: int, apart: float, limit: int
) -> Floats:
    """Points (P, k), and up to `limit` in all with their successors that lie apart from the rest.

    actions (P,): what to do at each point, or -1 for every action. Successors come breadth first,
    those of points that are new only under every action.
    """
    indptr, observation, target, chance, rewards = moves
    n_actions, k = rewards.shape
    found = np.empty((max(limit, len(points)), k))
    found[: len(points)] = points
    size = len(points)
    after = np.empty((n_observations, k))
    for p in range(limit):
        if p >= size or size == limit or (p >= len(points) and actions[0] >= 0):
            break
        for a in range(n_actions):
            if actions[0] >= 0 and a != actions[p]:
                continue
            after[:] = 0.0
            for s in range(k):
                for entry in range(indptr[a * k + s], indptr[a * k + s + 1]):
                    after[observation[entry], target[entry]] += found[p, s] * chance[entry]
            for o in range(n_observations):
                mass = after[o].sum()
                if mass <= 1e-9 or size == limit:
                    continue
                after[o] /= mass
                known = False
                for q in range(size):
                    if np.abs(found[q] - after[o]).max() <= apart:
                        known = True
                        break
                if not known:
                    found[size] = after[o]
                    size += 1
    return found[:size].copy()
