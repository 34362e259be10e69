"""The tighter informed bound (TIB): an upper bound below the fast-informed one.

Let b[s,a,o] be the belief after corner s, action a and observation o, and p(o | s, a) the
probability of o times the discount. For such beliefs b and all actions a,

    Q(b, a) = r(b, a) + sum_o max_a' sum_s b(s) p(o | s, a) Q(b[s,a,o], a').                   (T)

**Every solution is an upper bound.** Let Q* be the optimal one and y the belief after b, a and o,
of probability P. It is a mixture of beliefs after corners, P y = sum_s b(s) p(o | s, a) b[s,a,o],
and Q*(., a') is convex, so P Q*(y, a') <= sum_s b(s) p(o | s, a) Q*(b[s,a,o], a'). Hence
Q* <= T Q*. T is monotone and a contraction with the discount, so (1) T Q >= Q* if Q >= Q*: every
sweep of T from a bound gives a bound, also one that replaces values one by one; (2) if
T Q <= Q + delta, then Q + delta / (1 - discount) is a bound. The right side of (T) is a bound at
any other belief, too, such as the corners and the start.

The fast-informed bound is (T) with the corners in place of b[s,a,o], which are mixtures of them; so
a sweep from its values at b[s,a,o] is at most the fast-informed bound.

The values are computed by sweeps, then by policy iteration (the best a' for each b, a and o, then a
linear system) if many steps are ahead. Equal beliefs are one; beliefs that differ by at most `SAME`
in the 1-norm count as equal, which moves values by at most `SAME` times their size. Rounding errors
are added at every sweep.

Reference: M. Krale, W. Koops, S. Junges, T. D. Simão and N. Jansen, Tighter value-function
approximations for POMDPs, AAMAS 2025.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from rpsr.io.records import Floats, Ints
from rpsr.kernels import njit
from rpsr.models.operators import Sparse
from rpsr.models.rounding import chained
from rpsr.planning.corners.corner_model import CornerProcess
from rpsr.planning.limits import Clock, LimitReached
from rpsr.planning.linear_systems import SMALL, factorised, iterated

SAME = 1e-13  # in the 1-norm: beliefs this close are one
SWEEPS = 10  # before policy iteration
SETTLED = 1e-7  # of the scale of values: smaller changes end the iteration
STEPS = 10  # of policy iteration
OPERATIONS = 5e9  # in all sweeps together: some seconds
FEWEST = 5  # sweeps that are worth the effort
NUMBERS_PER_ENTRY = 8  # of the arrays here, per entry of those that they are made of
SYSTEM_SHARE = 0.5  # of the time left, for each linear system
SLOW_BOUTS = 20  # of a linear system, at most
SOLVED = 1e-9  # of the scale of values, per step ahead: a residual that is small enough


class Mixtures(NamedTuple):
    """Beliefs as mixtures of corners, one after the other: first (B + 1,), corner and share."""

    first: Ints
    corner: Ints
    share: Floats


class Outcomes(NamedTuple):
    """The possible successors of corners: E outcomes (a, s, o), in this order.

    begin (A * k + 1,): the outcomes of each action and corner. observation (E,), chance (E,): the
    probability times the discount. belief (E,): which of the different beliefs follows.
    rewards (A, k).
    """

    begin: Ints
    observation: Ints
    chance: Floats
    belief: Ints
    rewards: Floats


@dataclass(frozen=True, eq=False)
class TighterBound:
    """Upper bounds: Q's at the corners (A, k), and the value at the start.

    beliefs: how many different ones follow corners. sweeps, seconds: what it took.
    """

    corners: Floats
    start: float
    beliefs: int
    sweeps: int
    seconds: float


def tighter_informed(process: CornerProcess, informed: Floats, clock: Clock) -> TighterBound | None:
    """The tighter informed bound, from upper bounds on Q at the corners, (A, k).

    None if it is not better (only corners follow corners), or if there is no time or memory for it.
    """
    began, (n_actions, k) = clock.seconds, process.rewards.shape
    if clock.over or not 0 < NUMBERS_PER_ENTRY * process.chance.nbytes <= clock.bytes_left:
        return None
    if only_corners(process):
        return None
    outcomes, beliefs = after_corners(process)
    looked = looked_up(outcomes, beliefs)
    size = np.diff(beliefs.first)
    most = min(SWEEPS, int(OPERATIONS / (looked * n_actions + 1)))
    if most < FEWEST:
        return None
    scale = float(np.abs(process.rewards).max()) * process.ahead
    scale = max(scale, float(np.abs(informed).max()), np.finfo(float).tiny)
    off = _error(process, outcomes, int(size.max()), scale)
    values = np.ascontiguousarray(_matrix(beliefs, k) @ informed.T) + off
    sweeps, enough = 0, SETTLED * scale * (1 - process.discount) + off
    try:
        gain = np.inf
        while sweeps < most and gain > enough:
            gain = 0.0
            for part in clock.parts(len(size), looked * n_actions / len(size)):
                gain = max(gain, sweep(outcomes, beliefs, values, part.start, part.stop, off))
            sweeps += 1
        if gain > enough:
            values = _policy_iteration(process, outcomes, beliefs, values, off, clock)
    except LimitReached:
        pass
    if sweeps == 0:
        return None
    corner_index = np.arange(k, dtype=np.int64)
    corners = ahead_of(outcomes, Mixtures(np.arange(k + 1), corner_index, np.ones(k)), values) + off
    where = np.flatnonzero(process.start)
    start = Mixtures(np.array([0, len(where)]), where, process.start[where])
    upper = float(ahead_of(outcomes, start, values).max())
    upper += _error(process, outcomes, len(where), scale) + process.displaced * scale
    lowest = np.minimum(informed, corners.T)
    return TighterBound(lowest, upper, len(size), sweeps, clock.seconds - began)


def _error(process: CornerProcess, outcomes: Outcomes, size: int, scale: float) -> float:
    """The largest error of (T) at a mixture of this many corners, for values up to `scale`.

    For each corner (T) adds a reward and a term per observation, then a sum for each observation.
    Shares of both beliefs and masses are sums, and a term has two more products.
    """
    terms = size * (1 + int(np.diff(outcomes.begin).max())) + process.observations
    summed = chained(terms, size, size, size, 2)
    # Beliefs that count as equal, and the sum of their shares.
    return process.rounding(scale) + (summed + 2 * SAME) * scale


def only_corners(process: CornerProcess) -> bool:
    """Whether every action and observation leads from a corner to one corner."""
    row = np.repeat(np.arange(len(process.indptr) - 1), np.diff(process.indptr))
    same = (np.diff(process.observation) == 0) & (np.diff(row) == 0)
    return not bool(same.any())


def after_corners(process: CornerProcess) -> tuple[Outcomes, Mixtures]:
    """The outcomes of corners, and the different beliefs that follow them."""
    rows = len(process.indptr) - 1
    row = np.repeat(np.arange(rows), np.diff(process.indptr))
    key = row * process.observations + process.observation  # ascending: one key, one (a, s, o)
    first = np.flatnonzero(np.diff(key, prepend=-1))
    ends = np.append(first, len(key))
    mass = np.add.reduceat(process.chance, first)
    share = process.chance / np.repeat(mass, np.diff(ends))
    direction = np.random.default_rng(0).random(process.k)
    along = np.add.reduceat(share * direction[process.target], first)
    order = np.lexsort((along, np.diff(ends)))
    belief, kept = same_beliefs(ends, process.target, share, order, SAME)
    size = np.diff(ends)[kept]
    begins = np.append(0, np.cumsum(size))
    entries = np.repeat(ends[kept] - begins[:-1], size) + np.arange(begins[-1])
    mixtures = Mixtures(begins, process.target[entries], share[entries])
    begin = np.searchsorted(row[first], np.arange(rows + 1))
    observation = process.observation[first]
    return Outcomes(begin, observation, mass, belief, process.rewards), mixtures


@njit(cache=True)
def same_beliefs(
    ends: Ints, corner: Ints, share: Floats, order: Ints, apart: float
) -> tuple[Ints, Ints]:
    """The number of each outcome's belief, (E,), and an outcome with each belief, (U,).

    order: outcomes such that those with equal beliefs follow one another.
    """
    belief, kept, count = np.empty(len(order), np.int64), np.empty(len(order), np.int64), 0
    for e in order:
        length, equal = ends[e + 1] - ends[e], False
        if count > 0:
            other = kept[count - 1]
            if ends[other + 1] - ends[other] == length:
                shift = 0.0
                for t in range(length):
                    if corner[ends[e] + t] != corner[ends[other] + t]:
                        shift = np.inf
                        break
                    shift += abs(share[ends[e] + t] - share[ends[other] + t])
                equal = shift <= apart
        if not equal:
            kept[count] = e
            count += 1
        belief[e] = count - 1
    return belief, kept[:count].copy()


def looked_up(outcomes: Outcomes, beliefs: Mixtures) -> int:
    """How many outcomes a sweep looks up."""
    n_actions, k = outcomes.rewards.shape
    following = np.diff(outcomes.begin).reshape(n_actions, k).sum(axis=0)
    return int(following[beliefs.corner].sum())


def _matrix(beliefs: Mixtures, k: int) -> Sparse:
    parts, count = (beliefs.share, beliefs.corner, beliefs.first), len(beliefs.first) - 1
    return sp.csr_array(parts, shape=(count, k))


@njit(cache=True)
def gather(
    outcomes: Outcomes, beliefs: Mixtures, values: Floats, i: int, a: int, sums: Floats, met: Ints
) -> tuple[float, int]:
    """The expected reward of action a at belief i, and the number of observations met (O,).

    sums (O, A + 1) of these become sum_s b(s) p(o | s, a) Q(b[s,a,o], a'), and their last column,
    which is 0 between calls, becomes 1.
    """
    n_actions, k = outcomes.rewards.shape
    earned, count = 0.0, 0
    for t in range(beliefs.first[i], beliefs.first[i + 1]):
        s, weight = beliefs.corner[t], beliefs.share[t]
        earned += weight * outcomes.rewards[a, s]
        for e in range(outcomes.begin[a * k + s], outcomes.begin[a * k + s + 1]):
            o, after = outcomes.observation[e], outcomes.belief[e]
            share = weight * outcomes.chance[e]
            if sums[o, n_actions] == 0.0:
                met[count] = o
                count += 1
                sums[o] = 0.0
                sums[o, n_actions] = 1.0
            for c in range(n_actions):
                sums[o, c] += share * values[after, c]
    return earned, count


@njit(cache=True)
def informed_at(
    outcomes: Outcomes, beliefs: Mixtures, values: Floats, i: int, a: int, sums: Floats, met: Ints
) -> float:
    """The right side of (T) at a belief and an action."""
    n_actions = values.shape[1]
    total, count = gather(outcomes, beliefs, values, i, a, sums, met)
    for m in range(count):
        o = met[m]
        total += sums[o, :n_actions].max()
        sums[o, n_actions] = 0.0
    return total


@njit(cache=True)
def sweep(
    outcomes: Outcomes, beliefs: Mixtures, values: Floats, begin: int, end: int, off: float
) -> float:
    """Lower the values of some beliefs by (T), one after the other; the largest gain."""
    n_actions, gain = values.shape[1], 0.0
    n_observations = outcomes.observation.max() + 1
    sums, met = np.zeros((n_observations, n_actions + 1)), np.empty(n_observations, np.int64)
    for i in range(begin, end):
        for a in range(n_actions):
            value = informed_at(outcomes, beliefs, values, i, a, sums, met) + off
            gain = max(gain, values[i, a] - value)
            values[i, a] = min(values[i, a], value)
    return gain


@njit(cache=True)
def ahead_of(outcomes: Outcomes, beliefs: Mixtures, values: Floats) -> Floats:
    """The right side of (T) at beliefs, (B, A)."""
    n_actions, count = values.shape[1], len(beliefs.first) - 1
    n_observations = outcomes.observation.max() + 1
    sums, met = np.zeros((n_observations, n_actions + 1)), np.empty(n_observations, np.int64)
    ahead = np.empty((count, n_actions))
    for i in range(count):
        for a in range(n_actions):
            ahead[i, a] = informed_at(outcomes, beliefs, values, i, a, sums, met)
    return ahead


@njit(cache=True)
def chosen_moves(
    outcomes: Outcomes, beliefs: Mixtures, values: Floats, size: int
) -> tuple[Ints, Ints, Floats, Floats]:
    """The linear system of the best a' for each belief, action and observation.

    Row pointers (U * A + 1,), columns and entries of the moves between (belief, action), and the
    expected rewards (U * A,). size: the number of entries.
    """
    n_actions, k = outcomes.rewards.shape
    count = len(beliefs.first) - 1
    n_observations = outcomes.observation.max() + 1
    sums, met = np.zeros((n_observations, n_actions + 1)), np.empty(n_observations, np.int64)
    best = np.zeros(n_observations, np.int64)
    begin, column = np.zeros(count * n_actions + 1, np.int64), np.empty(size, np.int64)
    entry, rewards, place = np.empty(size), np.empty(count * n_actions), 0
    for i in range(count):
        for a in range(n_actions):
            row = i * n_actions + a
            rewards[row], seen = gather(outcomes, beliefs, values, i, a, sums, met)
            for m in range(seen):
                best[met[m]] = sums[met[m], :n_actions].argmax()
                sums[met[m], n_actions] = 0.0
            for t in range(beliefs.first[i], beliefs.first[i + 1]):
                s = beliefs.corner[t]
                for e in range(outcomes.begin[a * k + s], outcomes.begin[a * k + s + 1]):
                    column[place] = outcomes.belief[e] * n_actions + best[outcomes.observation[e]]
                    entry[place] = beliefs.share[t] * outcomes.chance[e]
                    place += 1
            begin[row + 1] = place
    return begin, column, entry, rewards


def _solved(moves: Sparse, rewards: Floats, clock: Clock, guess: Floats, enough: float) -> Floats:
    """The values (N,) of the choices, or as close as time allows; factors might be large."""
    if len(rewards) <= SMALL:
        return factorised(moves, rewards)
    share = clock.share(SYSTEM_SHARE)
    return iterated(
        lambda v: moves @ v, rewards, share, guess, SLOW_BOUTS, lambda _, worst: worst <= enough
    )[0]


def _policy_iteration(
    process: CornerProcess,
    outcomes: Outcomes,
    beliefs: Mixtures,
    values: Floats,
    off: float,
    clock: Clock,
) -> Floats:
    """Upper bounds (U, A), lowered by policy iteration as far as time allows."""
    size, guess, looked = values.size, values, looked_up(outcomes, beliefs)
    for _ in range(STEPS):
        clock.check()
        if clock.bytes_left < NUMBERS_PER_ENTRY * 8 * looked:
            break
        begin, column, entry, rewards = chosen_moves(outcomes, beliefs, guess, looked)
        moves = sp.csr_array((entry, column, begin), shape=(size, size))
        enough = SOLVED * float(np.abs(guess).max()) * (1 - process.discount)
        better = _solved(moves, rewards, clock, guess.ravel(), enough).reshape(values.shape)
        ahead = ahead_of(outcomes, beliefs, better)
        owed = (max(float((ahead - better).max()), 0.0) + off) / (1 - process.discount)
        values = np.minimum(values, better + owed)
        settled = float(np.abs(better - guess).max()) <= SETTLED * float(np.abs(better).max())
        guess = better
        if settled:
            break
    return values
