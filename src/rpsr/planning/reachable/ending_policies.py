"""The best policy of an observed decision problem without a discount, with a proven value.

An action that attains the optimal value need not be part of an optimal policy: waiting attains it,
too. So a policy is built backwards, from states where it may rest for nothing, by actions that
attain the optimal values v and lead nearer with a positive probability. Such a policy ends with
probability one, and earns v.

If all rewards are at most 0, the values u of the best policy also give an upper bound. Every v that
is at least its own backup, and 0 where a policy may rest for nothing, is one: a policy whose cost
is finite comes to rest with probability one. Let r(s, a) + P u exceed u(s) by e(s, a) at most. Then
v = (1 - d) u is at least its own backup, if (1 - d) e(s, a) <= d |r(s, a)| for all s and a.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
import scipy.sparse as sp

from rpsr.errors import ModelError
from rpsr.io.records import Bools, Floats, Ints
from rpsr.models.operators import Sparse
from rpsr.planning.corners.cheap_bounds import transitions
from rpsr.planning.corners.corner_model import CornerProcess
from rpsr.planning.corners.proven_sums import ENDLESS, largest, proven_sums
from rpsr.planning.end_components import end_components
from rpsr.planning.limits import Clock

EQUAL = 1e-9  # of the scale of values: actions that differ by less attain the same
IMPROVEMENT = 1e-13  # of the scale of values: a smaller gain is rounding
ROUNDS = 50  # of policy iteration


@dataclass(frozen=True, eq=False)
class ProvenPolicy:
    """Actions (k,), and a proven lower bound on their value at the first corner.

    upper: an upper bound on the optimal value there; infinite where none follows from the policy.
    """

    actions: Ints
    lower: float
    upper: float


def best_policy(process: CornerProcess, most: Floats, clock: Clock) -> ProvenPolicy:
    """The best policy; most (A, k): upper bounds on the optimal Q, near it.

    A `ModelError` if no policy with a finite value is found.
    """
    moves = transitions(process)
    actions = _backwards(process, moves, most)
    values = _worth(process, moves, actions)
    for _ in range(ROUNDS):
        if values is None or clock.over:
            break
        ahead = process.rewards + (moves @ values).reshape(process.rewards.shape)
        now = ahead[actions, np.arange(process.k)]
        rounding = IMPROVEMENT * max(largest(values), 1e-300)
        gains = ahead.max(axis=0) - now > rounding
        if not gains.any():
            break
        other = np.where(gains, ahead.argmax(axis=0), actions)
        better = _worth(process, moves, other)
        # A state far from the first may gain before the first does.
        if better is None or not (better - values > rounding).any():
            break
        actions, values = other, better
    if values is None:
        raise ModelError(
            f"{process.model.name}: no policy with a finite sum of rewards was found; give a "
            "discount below 1 or a number of steps"
        )
    return ProvenPolicy(actions, float(values[0]), _above(process, moves, values))


def _above(process: CornerProcess, moves: Sparse, values: Floats) -> float:
    """An upper bound on the optimal value at the first corner, from a policy's values (k,)."""
    rewards, unit = process.rewards, process.rounding(1.0)
    rests = end_components(moves, len(rewards), rewards == 0)[1].any(axis=0)
    costs = rewards.max() <= 0 and process.model.reward_error == 0
    if not costs or values.min() <= ENDLESS / 2 or values[rests].any():
        return inf
    after, size = ((moves @ vector).reshape(rewards.shape) for vector in (values, np.abs(values)))
    excess = rewards + after - values + unit * (np.abs(rewards) + size + np.abs(values))
    excess = np.maximum(excess, 0.0)
    if excess[rewards == 0].any():
        return inf
    paid = rewards < 0
    share = float((excess[paid] / (excess[paid] - rewards[paid])).max(initial=0.0))
    first = float(values[0])
    return (1 - share) * first + unit * abs(first)


def _backwards(process: CornerProcess, moves: Sparse, most: Floats) -> Ints:
    """A policy that attains the optimal values and ends, (k,)."""
    n_actions, k = process.rewards.shape
    values = most.max(axis=0)
    equal = EQUAL * max(largest(values), 1e-300)
    tight: Bools = most >= values - equal
    _, inside = end_components(moves, n_actions, process.rewards == 0)
    done = inside.any(axis=0) & (np.abs(values) <= equal)
    actions = np.where(done, inside.argmax(axis=0), most.argmax(axis=0))
    while True:
        nearer = (moves @ done.astype(float)).reshape(n_actions, k) > 0
        fresh = (nearer & tight).any(axis=0) & ~done
        if not fresh.any():
            return actions
        actions[fresh] = (nearer & tight)[:, fresh].argmax(axis=0)
        done |= fresh


def _worth(process: CornerProcess, moves: Sparse, actions: Ints) -> Floats | None:
    """Proven lower bounds (k,) on a policy's values, or None if that of the first is infinite."""
    rows = np.arange(process.k)
    chain = sp.csr_array(moves[actions * process.k + rows])
    values = proven_sums(process, chain, process.rewards[actions, rows])
    return None if values[0] <= ENDLESS else values
