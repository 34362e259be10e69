"""Bounds on the optimal value that cost little: blind policies below; MDP, QMDP and FIB above.

Below, one action at every step: alpha_a = R[:, a] + discount * sum_o M[a, o] alpha_a. Above, at the
corners s of the domain, which move to corners with chances K, discount included:

    MDP   v(s)    = max_a Q(s, a)                          as if the corner were seen from now on
    QMDP  Q(s, a) = r(s, a) + sum_o sum_s' K[a, o](s, s') v(s')    seen after one step
    FIB   Q(s, a) = r(s, a) + sum_o max_a' sum_s' K[a, o](s, s') Q(s', a')

and at a mixture w of corners each is max_a sum_s w(s) Q(s, a), which holds because the optimal
Q(., a) is convex. FIB <= QMDP <= MDP, and every sweep of FIB from QMDP is a bound.

Nothing here trusts that an iteration has converged: with T the equation above, T v <= v + delta
proves v + delta / (1 - discount) to be an upper bound (T is monotone and contracts), and the mirror
image proves a lower one. delta includes what rounding may hide.

References: M. Hauskrecht, Value-function approximations for POMDPs, JAIR 13 (2000), for all;
M. L. Littman, A. R. Cassandra and L. P. Kaelbling, Learning policies for partially observable
environments: scaling up, ICML 1995, for QMDP.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from rpsr.errors import ModelError
from rpsr.io.records import Floats, Ints
from rpsr.models.domain import Corners
from rpsr.models.linear import LinearModel
from rpsr.models.operators import Sparse
from rpsr.models.rounding import products
from rpsr.planning.corners.corner_model import CornerProcess, corner_process, summed
from rpsr.planning.discounted import SMALL, solve_dense, solve_discounted
from rpsr.planning.discounts import infinite_discount
from rpsr.planning.finite import FiniteProblem
from rpsr.planning.limits import Clock, no_limits

SETTLED = 1e-10  # of the scale of values: policy iteration that changes less has ended
IMPROVEMENTS = 50
BLIND_SWEEPS = 30  # of a blind policy's value, before its linear system
SWEEPS = 50  # of the fast-informed bound, before policy iteration


def blind_vectors(
    model: LinearModel, process: CornerProcess | None = None, clock: Clock | None = None
) -> tuple[Floats, Ints]:
    """Values (A', n) of the policies that take one action at every step, and those actions (A',).

    On a known domain every action has one, and each vector is at most its policy's value there,
    rounding included. On an unknown domain an action whose sums of rewards would not converge in
    the model's own numbers is left out. process: the model's, where it is known already.
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
        raise ModelError(f"{model.name}: no action has a finite value when taken at every step")
    return np.array(vectors), np.array(kept)


def blind_values(process: CornerProcess, clock: Clock | None = None) -> Floats:
    """At most the values at the corners of taking one action at every step, (A, k).

    Where there are many corners a few sweeps come first, from its least reward at every step: they
    cost little, and each leaves a bound. Out of time, that reward is what is left. A time limit
    that does not run out changes nothing.
    """
    clock, moves = clock or no_limits(), transitions(process)
    values = np.empty_like(process.rewards)
    for a, rewards in enumerate(process.rewards):
        rows = moves[a * process.k : (a + 1) * process.k]
        least = np.full(process.k, float(rewards.min()) * process.ahead)
        found = [least]
        if process.k > SMALL:
            found.append(_swept_up(rows, rewards, least, clock))
        if not clock.over:
            part = clock.share(1 / (len(values) - a))
            found.append(solve_discounted(rows, rewards, part, found[-1]))
        values[a] = np.max(
            [
                value - _owed(process, float((value - rewards - rows @ value).max()), value)
                for value in found
            ],
            axis=0,
        )
    return values


def _swept_up(rows: Sparse, rewards: Floats, values: Floats, clock: Clock) -> Floats:
    """Values (k,) that are at most their own backups, raised by sweeps while there is time."""
    for _ in range(BLIND_SWEEPS):
        if clock.over:
            break
        values = np.maximum(values, rewards + rows @ values)
    return values


def mdp_values(process: CornerProcess, clock: Clock | None = None) -> Floats:
    """At least the optimal values at the corners if they were seen, (k,).

    Sweeps from above come first, from the largest reward at every step: each leaves a bound. Policy
    iteration goes on from there, if there is time.
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
    # Sweeps round down as well as up, and there are many of them.
    return np.minimum(swept + _owed(process, 0.0, most), proven(values))


def qmdp_values(
    process: CornerProcess, values: Floats | None = None, clock: Clock | None = None
) -> Floats:
    """At least the optimal values at the corners of each action, (A, k).

    values (k,): those of the MDP, where they are known already.
    """
    values = mdp_values(process, clock) if values is None else values
    after = (transitions(process) @ values).reshape(process.rewards.shape)
    return process.rewards + after + process.rounding(float(np.abs(values).max()))


def fast_informed_values(process: CornerProcess, *, clock: Clock | None = None) -> Floats:
    """The same, (A, k), no higher: the fast-informed bound.

    By sweeps, each of which leaves a bound, and policy iteration if there is time: which a' is best
    for each (s, a, o), then a linear system.
    """
    clock = clock or no_limits()
    bound = qmdp_values(process, clock=clock.share(0.5))
    if clock.over:
        return bound
    outcomes, of = _outcomes(process)
    rounding = process.rounding(float(np.abs(bound).max()))
    for _ in range(SWEEPS):
        if clock.over:
            return bound
        lower = np.minimum(bound, _informed_ahead(process, outcomes, of, bound) + rounding)
        gain, bound = float((bound - lower).max()), lower
        if gain == 0:
            break
    values = bound
    for _ in range(IMPROVEMENTS):
        if clock.over:
            return bound
        choice = (outcomes @ values.T).argmax(axis=1)
        better = _chosen(process, outcomes, of, choice, values, clock)
        settled = np.abs(better - values).max() <= SETTLED * np.abs(better).max()
        values = better
        if settled:
            break
    ahead = _informed_ahead(process, outcomes, of, values)
    owed = _owed(process, float((ahead - values).max()), values)
    return np.minimum(bound, values + owed)


def _outcomes(process: CornerProcess) -> tuple[Sparse, Ints]:
    """Chances (E, k) of every (action, corner, observation) that can be, and its row of A * k."""
    row = np.repeat(np.arange(len(process.indptr) - 1), np.diff(process.indptr))
    key = row * process.observations + process.observation  # ascending: one key, one (a, s, o)
    begins = np.flatnonzero(np.diff(key, prepend=-1))
    parts = (process.chance, process.target, np.append(begins, len(key)))
    return sp.csr_array(parts, shape=(len(begins), process.k)), row[begins]


def _informed_ahead(process: CornerProcess, outcomes: Sparse, of: Ints, values: Floats) -> Floats:
    best = (outcomes @ values.T).max(axis=1, initial=-np.inf)
    return process.rewards + summed(of, best, values.size).reshape(values.shape)


def _chosen(
    process: CornerProcess,
    outcomes: Sparse,
    of: Ints,
    choice: Ints,
    guess: Floats,
    clock: Clock,
) -> Floats:
    """The solution (A, k) of the fast-informed equation with its choices (E,) of a' made."""
    n_actions, k = process.rewards.shape
    column = np.repeat(choice, np.diff(outcomes.indptr)) * k + outcomes.indices
    row = np.repeat(of, np.diff(outcomes.indptr))
    parts = (outcomes.data, (row, column))
    moves = sp.csr_array(sp.coo_array(parts, shape=(n_actions * k, n_actions * k)))
    values = solve_discounted(moves, process.rewards.ravel(), clock, guess.ravel())
    return values.reshape(n_actions, k)


def above_corners(process: CornerProcess, bound: Floats) -> Floats:
    """Linear functions of the model's states, (A, n), above a bound at every corner, (A, k)."""
    vectors, domain = process.lift(bound), process.model.domain
    short = np.maximum((bound - process.at_corners(vectors)).max(axis=1), 0.0)
    if isinstance(domain, Corners):
        size = short + (np.abs(vectors) @ np.abs(domain.points).T).max(axis=1)
        short += 4 * products(vectors.shape[1]) * size
    return vectors + short[:, None] * process.model.normalizer


def upper_at_start(process: CornerProcess, bound: Floats) -> float:
    """What a bound at the corners, (A, k), proves about the optimal value at the start."""
    scale = float(np.abs(bound).max())
    off = process.rounding(scale) + process.displaced * scale
    return float((bound @ process.start).max()) + off


def first_upper(
    process: CornerProcess, clock: Clock, informed: Callable[..., Floats] = fast_informed_values
) -> tuple[Floats, float]:
    """The upper bound that a planner begins with: at the corners, (A, k), and at the start.

    informed: which bound it is.
    """
    bound = informed(process, clock=clock)
    return bound, upper_at_start(process, bound)


def transitions(process: CornerProcess) -> Sparse:
    """Discounted chances of moving, sparse (A * k, k), observations summed out."""
    parts = (process.chance, process.target, process.indptr)
    return sp.csr_array(parts, shape=(len(process.indptr) - 1, process.k))


def ahead_of(process: CornerProcess, moves: Sparse, values: Floats) -> Floats:
    """The best of all actions if the next corner is seen and worth values (k,), (k,)."""
    return (process.rewards + (moves @ values).reshape(process.rewards.shape)).max(axis=0)


def _owed(process: CornerProcess, excess: float, values: Floats) -> float:
    """What to move values by so that they are a bound, when a step misses it by `excess`."""
    delta = max(excess, 0.0) + process.rounding(float(np.abs(values).max()))
    return delta / (1 - process.discount)
