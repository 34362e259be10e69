"""Cheap bounds on the optimal value: blind policies below; MDP, QMDP and FIB above.

Below, one action at every step: alpha_a = R[:, a] + discount * sum_o M[a, o] alpha_a. Above, at the
corners s of the domain, which move to corners with probabilities times discount K:

    MDP   v(s)    = max_a Q(s, a)                          the corner is observed from now on
    QMDP  Q(s, a) = r(s, a) + sum_o sum_s' K[a, o](s, s') v(s')    observed after one step
    FIB   Q(s, a) = r(s, a) + sum_o max_a' sum_s' K[a, o](s, s') Q(s', a')

and at a mixture w of corners each is max_a sum_s w(s) Q(s, a), which holds because the optimal
Q(., a) is convex. FIB <= QMDP <= MDP, and every sweep of FIB from QMDP is a bound.

The proofs do not rely on convergence: with T the operator above, T v <= v + delta proves that
v + delta / (1 - discount) is an upper bound (T is monotone and a contraction), and the reverse
inequality proves a lower one. delta includes rounding errors.

References: M. Hauskrecht, Value-function approximations for POMDPs, JAIR 13 (2000), for all;
M. L. Littman, A. R. Cassandra and L. P. Kaelbling, Learning policies for partially observable
environments: scaling up, ICML 1995, for QMDP.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import scipy.sparse as sp

from rpsr.errors import ModelError
from rpsr.io.records import Floats, Ints
from rpsr.models.linear import LinearModel
from rpsr.models.operators import Sparse
from rpsr.models.rounding import chained
from rpsr.planning.convergence import infinite_discount
from rpsr.planning.corners.corner_model import CornerProcess, corner_process, summed
from rpsr.planning.finite_mdp import FiniteProblem
from rpsr.planning.limits import Clock, no_limits
from rpsr.planning.linear_systems import SMALL, solve_dense, solve_discounted

SETTLED = 1e-10  # of the scale of values: policy iteration ends at smaller changes
IMPROVEMENTS = 50
BLIND_SWEEPS = 30  # of a blind policy's value, before its linear system
SWEEPS = 50  # of the fast-informed bound, before policy iteration
TOGETHER = 1 << 21  # numbers of a product that are held at a time
SEEN = 0.5  # of the time for an upper bound: that of the MDP, which comes first


def blind_vectors(
    model: LinearModel, process: CornerProcess | None = None, clock: Clock | None = None
) -> tuple[Floats, Ints]:
    """Values (A', n) of the policies that take one action at every step, and those actions (A',).

    On a known domain every action has one, and each vector is at most its policy's value, rounding
    included. On an unknown domain actions are omitted if their sums of rewards diverge in the
    model. process: the model at its corners, if available.
    """
    infinite_discount(model)
    if model.domain.known:
        process = process or corner_process(model)
        return process.lift(blind_values(process, clock)), np.arange(len(model.actions))
    vectors: list[Floats] = []
    kept: list[int] = []
    for a, only in enumerate(np.eye(len(model.actions))):
        moves = (model.discount or 0.0) * model.operators.mixed(only)
        if np.abs(np.linalg.eigvals(moves)).max() < 1:
            vectors.append(solve_dense(moves, model.rewards[:, a]))
            kept.append(a)
    if not kept:
        raise ModelError(
            f"{model.name}: no action has a finite value if it is taken at every step; give a "
            "smaller discount"
        )
    return np.array(vectors), np.array(kept)


def blind_values(process: CornerProcess, clock: Clock | None = None) -> Floats:
    """Lower bounds on the values of blind policies at the corners, (A, k).

    With many corners a few cheap sweeps come first, from the least reward at every step; each gives
    a bound. Out of time, that initial bound remains. A time limit that is not reached has no
    effect.
    """
    clock, moves = clock or no_limits(), transitions(process)
    values = np.empty_like(process.rewards)
    for a, rewards in enumerate(process.rewards):
        rows = moves[a * process.k : (a + 1) * process.k]
        least = np.full(process.k, float(rewards.min()) * process.ahead)
        bounds = [least]
        if process.k > SMALL:
            bounds.append(_swept_up(rows, rewards, least, clock))
        if not clock.over:
            part = clock.share(1 / (len(values) - a))
            bounds.append(solve_discounted(rows, rewards, part, bounds[-1]))
        values[a] = np.max(
            [
                value - _owed(process, float((value - rewards - rows @ value).max()), value)
                for value in bounds
            ],
            axis=0,
        )
    return values


def _swept_up(rows: Sparse, rewards: Floats, values: Floats, clock: Clock) -> Floats:
    """Values (k,) at most their own backups, raised by sweeps until the deadline."""
    for _ in range(BLIND_SWEEPS):
        if clock.over:
            break
        values = np.maximum(values, rewards + rows @ values)
    return values


def mdp_values(process: CornerProcess, clock: Clock | None = None) -> Floats:
    """Upper bounds on the optimal values with observed corners, (k,).

    Sweeps from above come first, from the largest reward at every step; each gives a bound. Policy
    iteration continues from there, if time is left.
    """
    clock = clock or no_limits()
    discount = process.model.discount or 0.0
    if discount == 0:
        return process.rewards.max(axis=0)
    allowed = np.ones(process.rewards.T.shape, dtype=np.bool_)
    moves = transitions(process)
    problem = FiniteProblem(moves / discount, process.rewards.T, allowed, discount)

    def proven(values: Floats) -> Floats:
        missed = float((ahead_of(process, moves, values) - values).max())
        return values + _owed(process, missed, values)

    most = proven(np.full(process.k, float(process.rewards.max()) * process.ahead))
    swept, values = problem.from_above(most, clock)
    # Many sweeps round down as well as up, at values between `most` and `swept`.
    between = np.concatenate([most, swept])
    return np.minimum(swept + _owed(process, 0.0, between), proven(values))


def qmdp_values(
    process: CornerProcess, values: Floats | None = None, clock: Clock | None = None
) -> Floats:
    """Upper bounds on the optimal Q at the corners, (A, k).

    values (k,): those of the MDP, if available; no action is worth more.
    """
    values = mdp_values(process, clock) if values is None else values
    after = (transitions(process) @ values).reshape(process.rewards.shape)
    bound = process.rewards + after
    ahead = bound + process.rounding(max(_size(values), _size(bound)))
    return np.minimum(ahead, values)


def fast_informed_values(
    process: CornerProcess, values: Floats | None = None, clock: Clock | None = None
) -> Floats:
    """The same, (A, k), no higher: the fast-informed bound.

    By sweeps, each of which gives a bound, and, if time is left, policy iteration: the best a' for
    each (s, a, o), then a linear system.
    """
    clock = clock or no_limits()
    bound = qmdp_values(process, values, clock.share(SEEN))
    if clock.over:
        return bound
    bound = informed_sweeps(process, bound, clock)
    outcomes, of = _outcomes(process)
    values = bound
    for _ in range(IMPROVEMENTS):
        if clock.over:
            return bound
        choice = np.concatenate([part.argmax(axis=1) for _, part in _after(outcomes, values)])
        better = _chosen(process, outcomes, of, choice, values, clock)
        settled = np.abs(better - values).max() <= SETTLED * np.abs(better).max()
        values = better
        if settled:
            break
    ahead = _informed_ahead(process, outcomes, of, values)
    owed = _owed(process, float((ahead - values).max()), values)
    return np.minimum(bound, values + owed)


def informed_sweeps(process: CornerProcess, bound: Floats, clock: Clock) -> Floats:
    """Upper bounds on Q (A, k), lowered by sweeps of the fast-informed bound while time is left."""
    outcomes, of = _outcomes(process)
    largest = _size(bound)
    for _ in range(SWEEPS):
        if clock.over:
            break
        ahead = _informed_ahead(process, outcomes, of, bound)
        largest = max(largest, _size(ahead))
        lower = np.minimum(bound, ahead + process.rounding(largest))
        gain, bound = float((bound - lower).max()), lower
        if gain == 0:
            break
    return bound


def _outcomes(process: CornerProcess) -> tuple[Sparse, Ints]:
    """Probabilities (E, k) of each possible (action, corner, observation), and its row of A * k."""
    row = np.repeat(np.arange(len(process.indptr) - 1), np.diff(process.indptr))
    key = row * process.observations + process.observation  # ascending: one key, one (a, s, o)
    begins = np.flatnonzero(np.diff(key, prepend=-1))
    parts = (process.chance, process.target, np.append(begins, len(key)))
    return sp.csr_array(parts, shape=(len(begins), process.k)), row[begins]


def _informed_ahead(process: CornerProcess, outcomes: Sparse, of: Ints, values: Floats) -> Floats:
    best = np.full(outcomes.shape[0], -np.inf)
    for rows, after in _after(outcomes, values):
        best[rows] = after.max(axis=1)
    return process.rewards + summed(of, best, values.size).reshape(values.shape)


def _after(outcomes: Sparse, values: Floats) -> Iterator[tuple[slice, Floats]]:
    """The products of outcomes (E, k) with values (A, k), (rows, A) for some rows at a time."""
    size = max(1, TOGETHER // len(values))
    if outcomes.shape[0] <= size:
        yield slice(None), outcomes @ values.T
        return
    across = np.ascontiguousarray(values.T)
    for first in range(0, outcomes.shape[0], size):
        rows = slice(first, first + size)
        yield rows, outcomes[rows] @ across


def _chosen(
    process: CornerProcess,
    outcomes: Sparse,
    of: Ints,
    choice: Ints,
    guess: Floats,
    clock: Clock,
) -> Floats:
    """The solution (A, k) of the fast-informed equation for given choices (E,) of a'."""
    n_actions, k = process.rewards.shape
    column = np.repeat(choice, np.diff(outcomes.indptr)) * k + outcomes.indices
    row = np.repeat(of, np.diff(outcomes.indptr))
    parts = (outcomes.data, (row, column))
    moves = sp.csr_array(sp.coo_array(parts, shape=(n_actions * k, n_actions * k)))
    values = solve_discounted(moves, process.rewards.ravel(), clock, guess.ravel())
    return values.reshape(n_actions, k)


def above_corners(process: CornerProcess, bound: Floats) -> Floats:
    """Linear functions of the model's states, (A, n), above a bound at every corner, (A, k)."""
    vectors, points = process.lift(bound), process.model.domain.points
    short = np.maximum((bound - process.at_corners(vectors)).max(axis=1), 0.0)
    if points is not None:
        # Vectors and normalizer are evaluated at the corners before the vectors are raised, and
        # are meant to be after it.
        n, size = vectors.shape[1], short + (np.abs(vectors) @ np.abs(points).T).max(axis=1)
        short += chained(n, n, n, n) * size
    return vectors + short[:, None] * process.model.normalizer


def upper_at_start(process: CornerProcess, bound: Floats) -> float:
    """The upper bound at the start that follows from a bound at the corners, (A, k)."""
    scale = _size(bound)
    off = process.rounding(scale) + process.displaced * scale
    return float((bound @ process.start).max()) + off


def initial_upper_bound(
    process: CornerProcess, clock: Clock, informed: Callable[..., Floats] = fast_informed_values
) -> tuple[Floats, float]:
    """The initial upper bound of a planner: at the corners, (A, k), and at the start.

    informed: computes the bound at the corners from the values of the underlying MDP. The bound at
    the start is the smaller of two, from these corners and from the MDP: each allows for rounding
    in proportion to its largest value, so the bound from the MDP may be the smaller one.
    """
    seen = mdp_values(process, clock.share(SEEN))
    bound = informed(process, seen, clock)
    return bound, min(upper_at_start(process, bound), upper_at_start(process, seen[None]))


def transitions(process: CornerProcess) -> Sparse:
    """Discounted transition probabilities, sparse (A * k, k), summed over observations."""
    parts = (process.chance, process.target, process.indptr)
    return sp.csr_array(parts, shape=(len(process.indptr) - 1, process.k))


def ahead_of(process: CornerProcess, moves: Sparse, values: Floats) -> Floats:
    """The best one-step value if the next corner is observed and has values (k,), (k,)."""
    return (process.rewards + (moves @ values).reshape(process.rewards.shape)).max(axis=0)


def _owed(process: CornerProcess, excess: float, values: Floats) -> float:
    """The amount that makes values a bound, if one backup violates it by `excess`."""
    delta = max(excess, 0.0) + process.rounding(_size(values))
    return delta / (1 - process.discount)


def _size(values: Floats) -> float:
    """The largest absolute value."""
    return float(np.abs(values).max())
