"""The value of a fixed policy: v = r + P v, where rows of P >= 0 sum to a discount or less.

A small system is factorised. The factors of a large one may be of any size, so it is solved by
GMRES in short bouts, with a check of the clock between them. Each bout begins with the residual of
the last one, which refines the answer to the precision of floats. Without a time limit, a system on
which bouts make slow progress is factorised in the end.

After the deadline the best answer so far is returned. A caller that derives a bound from it must
account for the residual, converged or not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, gmres, splu

from rpsr.io.records import Floats
from rpsr.models.operators import Sparse
from rpsr.planning.limits import Clock, LimitReached

Enough = Callable[[Floats, float], bool]  # of values (N,) and the largest of their residuals

SMALL = 1000  # equations: even full factors take less than a second
LARGE = 2**21  # equations: beyond, a bout consists of sweeps, which need less memory
BOUT = 10  # products with P between two checks of the clock
CONVERGED = 1e-15  # of the scale of values: a residual that is 0 up to rounding
STANDSTILL = 1e-12  # of the scale of values: a smaller residual that stagnates is rounding
SLOW, PATIENCE = 0.5, 5  # bouts that shrink the residual by less, and how many before factorising


def solve_discounted(
    moves: Sparse, rewards: Floats, clock: Clock, guess: Floats | None = None
) -> Floats:
    """v (N,) with v = rewards + moves v, up to rounding, or as close as the time limit allows.

    moves: sparse (N, N), the discount included. guess (N,): initial values of an iteration.
    """
    if len(rewards) <= SMALL:
        return factorised(moves, rewards)
    begin = np.zeros(len(rewards)) if guess is None else guess
    unlimited = clock.time_limit is None
    patience = PATIENCE if unlimited else None
    values, done = iterated(lambda v: moves @ v, rewards, clock, begin, patience)
    return factorised(moves, rewards) if unlimited and not done else values


def solve_dense(moves: Floats, rewards: Floats) -> Floats:
    """The same for dense moves (n, n), entries of any sign, in a model's own coordinates."""
    values = np.linalg.solve(np.eye(len(rewards)) - moves, rewards)
    return np.asarray(values, dtype=np.float64)


def factorised(moves: Sparse, rewards: Floats) -> Floats:
    """The same by a sparse factorisation, with one step of refinement."""
    system = sp.csc_array(sp.eye_array(len(rewards)) - moves)
    factors = splu(system)
    values = factors.solve(rewards)
    return np.asarray(values + factors.solve(rewards - system @ values), dtype=np.float64)


def iterated(
    following: Callable[[Floats], Floats],
    rewards: Floats,
    clock: Clock,
    guess: Floats,
    patience: int | None = None,
    enough: Enough | None = None,
) -> tuple[Floats, bool]:
    """The same by bouts of iteration, with following(v) = P v; and whether it converged.

    It ends at the deadline, after `patience` bouts of slow progress, or when `enough` accepts the
    values.
    """

    def apply(v: Floats) -> Floats:
        return v - following(v)

    values, bout = guess, _sweeps if len(rewards) > LARGE else _directions
    try:
        left = rewards - apply(values)
        size, slow = np.inf, 0
        while True:
            clock.check()
            scale = max(float(np.abs(values).max()), float(np.abs(rewards).max()))
            worst = float(np.abs(left).max())
            if worst <= CONVERGED * scale or (enough is not None and enough(values, worst)):
                return values, True
            step = bout(apply, left)
            after = rewards - apply(values + step)
            before, size = size, float(np.linalg.norm(after))
            if not size < before:  # rounding, or the sum of rewards diverges
                return values, worst <= STANDSTILL * scale
            values, left = values + step, after
            if size > SLOW * before:
                slow += 1
                if worst <= STANDSTILL * scale:
                    return values, True
                if slow == patience:
                    return values, False
    except LimitReached:
        return values, False


def _directions(apply: Callable[[Floats], Floats], left: Floats) -> Floats:
    """The best step in a Krylov space of a few products: GMRES."""
    operator: Any = LinearOperator  # its stubs know only how to subclass it
    system = operator((len(left), len(left)), matvec=apply, dtype=np.float64)
    return gmres(system, left, rtol=1e-8, atol=0.0, restart=BOUT, maxiter=1)[0]


def _sweeps(apply: Callable[[Floats], Floats], left: Floats) -> Floats:
    """The step of a few sweeps, v to r + P v."""
    step = left
    for _ in range(BOUT - 1):
        step = step + left - apply(step)
    return step
