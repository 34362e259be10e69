"""Moves between corners, with backups, sweeps and the lowering of vectors.

`Moves` are the arrays of a `CornerProcess`. A *choice* is a row (1 + O,): an action and, for every
observation, the vector to continue with. A set of vectors whose choices refer to each other is a
finite-state controller. Its vectors are values (K, k), one number per corner, and the backup of a
vector by its own choice is

    u_c(s) = r(s, a_c) + sum_o sum_s' K[a_c, o](s, s') u_follow(c, o)(s').
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.kernels import njit

ROUNDS = 100  # of the iteration for the amounts by which to lower vectors


class Moves(NamedTuple):
    """The moves of action a from corner s are the entries indptr[a * k + s] and on.

    indptr (A k + 1,); observation, target and chance (discount included), (entries,), ordered by
    observation; rewards (A, k).
    """

    indptr: Ints
    observation: Ints
    target: Ints
    chance: Floats
    rewards: Floats


@njit(cache=True, inline="always")
def backup_at(moves: Moves, choice: Ints, values: Floats, s: int) -> float:
    """The value at a corner of a choice, continuing with values (K, k)."""
    row = choice[0] * values.shape[1] + s
    total = moves.rewards[choice[0], s]
    for entry in range(moves.indptr[row], moves.indptr[row + 1]):
        then = choice[1 + moves.observation[entry]]
        total += moves.chance[entry] * values[then, moves.target[entry]]
    return total


@njit(cache=True)
def backup_of(moves: Moves, choice: Ints, values: Floats, out: Floats) -> None:
    """The value (k,) of a choice, continuing with values (K, k).

    As `backup_at`, inlined: for corners with few moves, calls would dominate the time.
    """
    indptr, observation, target, chance, rewards = moves
    k = values.shape[1]
    for s in range(k):
        row = choice[0] * k + s
        total = rewards[choice[0], s]
        for entry in range(indptr[row], indptr[row + 1]):
            total += chance[entry] * values[choice[1 + observation[entry]], target[entry]]
        out[s] = total


@njit(cache=True)
def backups(moves: Moves, choices: Ints, values: Floats) -> Floats:
    """The values (M, k) of choices (M, 1 + O), continuing with values (K, k)."""
    out = np.empty((len(choices), values.shape[1]))
    for m in range(len(choices)):
        backup_of(moves, choices[m], values, out[m])
    return out


@njit(cache=True)
def sweep(moves: Moves, choices: Ints, values: Floats, sweeps: int, settled: float) -> float:
    """Gauss-Seidel evaluation of a controller, values (M, k) in place; the last largest change.

    Stops early once no value changes by more than `settled`.
    """
    fresh = np.empty(values.shape[1])  # vectors are replaced as a whole: mixed ones are no values
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
def settle_from_below(
    moves: Moves, follow: Ints, values: Floats, sweeps: int, enough: float, shave: float
) -> int:
    """Sweep values (C, k) that a backup can only raise, less `shave` for rounding, while they rise.

    The number of sweeps. From a lower bound on the value of every policy, each sweep gives a lower
    bound on the value of the controller, with or without a discount.
    """
    change, done = np.inf, 0
    while done < sweeps and change > enough:
        change = 0.0
        done += 1
        for c in range(len(values)):
            for s in range(values.shape[1] if follow[c, 0] >= 0 else 0):
                fresh = backup_at(moves, follow[c], values, s) - shave
                change = max(change, fresh - values[c, s])
                values[c, s] = max(values[c, s], fresh)
    return done


@njit(cache=True)
def excess(moves: Moves, choices: Ints, values: Floats) -> float:
    """The largest amount by which a vector exceeds its own backup, at any corner."""
    fresh = np.empty(values.shape[1])
    worst = -np.inf
    for m in range(len(values)):
        backup_of(moves, choices[m], values, fresh)
        for s in range(len(fresh)):
            worst = max(worst, values[m, s] - fresh[s])
    return worst


@njit(cache=True)
def shortfalls(moves: Moves, follow: Ints, values: Floats, discount: float) -> Floats:
    """The amounts (C,) to subtract from values (C, k), so that none exceeds its own backup."""
    count, k = values.shape
    over = np.zeros(count)
    for c in range(count):
        for s in range(k if follow[c, 0] >= 0 else 0):
            over[c] = max(over[c], values[c, s] - backup_at(moves, follow[c], values, s))
    return accumulated(over, follow, discount)


@njit(cache=True)
def accumulated(over: Floats, follow: Ints, discount: float) -> Floats:
    """The amounts (C,) to subtract from vectors that exceed their backups by at most over (C,).

    If vector c exceeds its backup by at most e_c, less_c = e_c + discount * max_o less_follow(c,
    o). Every iterate from above is sufficient.
    """
    count, worst = len(over), 0.0
    for c in range(count):
        worst = max(worst, over[c])
    less = np.full(count, worst / (1 - discount))
    for c in range(count):
        if follow[c, 0] < 0:
            less[c] = 0.0
    for _ in range(ROUNDS):
        for c in range(count):
            if follow[c, 0] >= 0:
                most = 0.0
                for o in range(1, follow.shape[1]):
                    most = max(most, less[follow[c, o]])
                less[c] = min(less[c], over[c] + discount * most)
    return less
