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

from rpsr.io.records import Bools, Floats, Ints
from rpsr.kernels import njit
from rpsr.planning.limits import Clock
from rpsr.planning.lp_kernels import evaluate

Moves = tuple[Ints, Ints, Ints, Floats, Floats]
STAND_IN = 1e-2  # of a point's slack: what a vector may lose to the one that stands in for it
LEAST_MASS = 1e-9  # an observation less likely than this leads to no witness point


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
    choices = np.zeros((len(points), width), dtype=np.int64)  # valid though no value is a number
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
                for o in range(width):
                    choices[p, o] = plan[o]
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
            known = key[m] == mixed
            for c in range(choices.shape[1]):
                known = known and choices[first[m], c] == choices[p, c]
            if known:
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
            for s in range(len(fresh)):
                values[m, s] = fresh[s]
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
def cover(values: Floats, old: int, points: Floats, slack: float, wanted: Bools) -> float:
    """Mark vectors (K, k) until every point has one within `slack` of its best.

    Returns the largest by which the best exceeds the best of the last `old` vectors.
    """
    v = np.ascontiguousarray(values.T)
    scores = np.empty(len(values))
    gain = -np.inf
    for p in range(len(points)):
        evaluate(v, len(values), points[p], scores)
        top = 0
        before = -np.inf
        for i in range(len(values)):
            if scores[i] > scores[top]:
                top = i
            if i >= len(values) - old:
                before = max(before, scores[i])
        gain = max(gain, scores[top] - before)
        covered = False
        for i in range(len(values)):
            if wanted[i] and scores[i] >= scores[top] - slack:
                covered = True
                break
        wanted[top] |= not covered
    return gain


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
    for p in range(len(points)):
        for s in range(k):
            found[p, s] = points[p, s]
    size = len(points)
    after, mass = np.empty((n_observations, k)), np.empty(n_observations)
    for p in range(limit):
        if p >= size or size == limit or (p >= len(points) and actions[0] >= 0):
            break
        for a in range(n_actions):
            if actions[0] >= 0 and a != actions[p]:
                continue
            after[:] = 0.0
            mass[:] = 0.0
            for s in range(k):
                for entry in range(indptr[a * k + s], indptr[a * k + s + 1]):
                    weight = found[p, s] * chance[entry]
                    after[observation[entry], target[entry]] += weight
                    mass[observation[entry]] += weight
            for o in range(n_observations):
                if mass[o] <= LEAST_MASS or size == limit:
                    continue
                known = False
                for q in range(size):
                    known = True
                    for s in range(k):
                        if abs(found[q, s] - after[o, s] / mass[o]) > apart:
                            known = False
                            break
                    if known:
                        break
                if not known:
                    for s in range(k):
                        found[size, s] = after[o, s] / mass[o]
                    size += 1
    return found[:size].copy()


def evaluate_controller(
    moves: Moves, choices: Ints, values: Floats, sweeps: int, settled: float, clock: Clock
) -> None:
    """`sweep` with an eye on the clock."""
    work = 2.0 * len(choices) * len(moves[3]) / len(moves[4])  # entries of each vector's action
    for part in clock.parts(sweeps, work):
        if sweep(moves, choices, values, part.stop - part.start, settled) <= settled:
            break


def plan_at(
    moves: Moves,
    values: Floats,
    points: Floats,
    given: Ints,
    width: int,
    tie: float,
    clock: Clock,
) -> Ints:
    """`backup_points` with an eye on the clock."""
    choices = np.empty((len(points), width), dtype=np.int64)
    work = 2.0 * (values.size * width * len(moves[4]) + len(moves[3]))
    for part in clock.parts(len(points), work):
        choices[part] = backup_points(moves, values, points[part], given[part], width, tie)
    return choices


def improve(
    moves: Moves,
    values: Floats,
    choices: Ints,
    points: Floats,
    sweeps: int,
    settled: float,
    slack: float,
    tie: float,
    clock: Clock,
) -> tuple[Floats, Ints, float]:
    """One step: (values, choices, the largest gain of V at a point).

    sweeps and settled: see `sweep`. slack: what a point may lose for the sake of fewer vectors.
    """
    width = choices.shape[1]
    plans = plan_at(moves, values, points, np.full(len(points), -1), width, tie, clock)
    first = distinct(plans)
    fresh = backups(moves, plans[first], values)
    # The same actions again, going on with the new vectors: a controller that is closed.
    links = plan_at(moves, fresh, points[first], plans[first, 0], width, tie, clock)
    closed = fresh.copy()
    evaluate_controller(moves, links, closed, sweeps, settled, clock)
    new = len(fresh)
    vectors = np.vstack([closed, fresh, values])
    every = np.vstack([links, plans[first], choices])
    every[new:, 1:] += 2 * new
    wanted = np.zeros(len(vectors), dtype=np.bool_)
    gain = -np.inf
    for part in clock.parts(len(points), 2.0 * vectors.size):
        gain = max(gain, cover(vectors, len(values), points[part], slack, wanted))
    deputy = close(vectors, every, STAND_IN * slack, wanted)
    place = np.cumsum(wanted) - 1
    vectors, every = vectors[wanted], every[wanted]
    every[:, 1:] = place[deputy[every[:, 1:]]]
    evaluate_controller(moves, every, vectors, sweeps, settled, clock)
    return vectors, every, gain
