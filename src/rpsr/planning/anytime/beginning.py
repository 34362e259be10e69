"""How an anytime search begins: the first bounds, and how errors are accounted for.

With a discount, an error of one step adds up to at most error / (1 - discount), which is added to
the reported bounds once. Without one it may add up without limit, so it is paid for at every step:
every look adds `pad` to an upper bound, and every backup subtracts `shave`. The bounds then hold at
any time without a further margin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rpsr.io.records import Floats
from rpsr.planning.anytime.decomposition import LEFT_OVER
from rpsr.planning.anytime.ending_cycles import ending_cycles
from rpsr.planning.convergence import undiscounted
from rpsr.planning.corners.cheap_bounds import (
    blind_values,
    informed_sweeps,
    initial_upper_bound,
    transitions,
    upper_at_start,
)
from rpsr.planning.corners.corner_model import CornerProcess
from rpsr.planning.corners.tighter_informed import tighter_informed
from rpsr.planning.corners.undiscounted_bounds import undiscounted_bounds
from rpsr.planning.limits import Clock
from rpsr.planning.precision import CLOSED, Epsilon, Goal, goal_of, goal_of_range
from rpsr.planning.value.value_function import ValueFunction

BLIND_SHARE, INFORMED_SHARE, TIGHTER_SHARE = 0.1, 0.4, 0.2  # of the time left: initial bounds
CLOSE = 1e-9  # beliefs this close, in the 1-norm, are one node; or less, where the goal needs it
BLIND_SWEEPS = 1000  # of a blind policy's value without a discount
HINT_DISCOUNT, HINT_SWEEPS = 0.95, 200
LONG = 1000.0  # steps: small improvements are worth while if fewer are ahead


@dataclass(frozen=True, eq=False)
class Beginning:
    """The first bounds of a search on a process of k corners.

    goal: the gap to reach. policies: the first ones, with vectors (K, k). informed (A, k): upper
    bounds on Q. least, first: the proven bounds at the start. first_upper_bound: of the latter, its
    `name`, its `value`, the `seconds` until it was known, and the same of those `beside` it. scale:
    the largest value in a backup. tau, pad, shave: as in `Knobs`. low_margin, high_margin: what the
    reported bounds add to those of the search. ahead: the number of steps over which an improvement
    counts. floor (k,): without a discount, a lower bound on every policy's value, -inf where there
    is none; else empty. hint: as in `Scratch`.
    """

    goal: Goal
    policies: ValueFunction
    informed: Floats
    least: float
    first: float
    first_upper_bound: dict[str, Any]
    scale: float
    tau: float
    pad: float
    shave: float
    low_margin: float
    high_margin: float
    ahead: float
    floor: Floats
    hint: Floats


def begin(
    process: CornerProcess, clock: Clock, epsilon: Epsilon, *, by_points: bool = False
) -> Beginning:
    """The first bounds, with or without a discount; a `ModelError` where no sum converges.

    by_points: use only bounds that the points of the search prove, as a certificate needs.
    """
    if undiscounted(process.model):
        return _ending(process, clock, epsilon)
    return _discounted(process, clock, epsilon, by_points=by_points)


def _discounted(
    process: CornerProcess, clock: Clock, epsilon: Epsilon, *, by_points: bool
) -> Beginning:
    ahead = process.ahead
    goal = goal_of(epsilon, CLOSED, process.model, ahead)
    blind = blind_values(process, clock.share(BLIND_SHARE))
    began = clock.seconds
    informed, first = initial_upper_bound(process, clock.share(INFORMED_SHARE))
    tried = [_tried("fast informed", first, clock.seconds - began)]
    share = clock.share(TIGHTER_SHARE)
    tighter = None if by_points else tighter_informed(process, informed, share)
    if tighter is not None:
        informed, first = tighter.corners, min(first, tighter.start)
        tried.insert(0, _tried("tighter informed", first, clock.seconds - began))
    value, off = process.value_at_start(blind)
    # No value that appears in a backup is larger than the largest reward at every step.
    scale = max(float(np.abs(process.rewards).max()) * ahead, np.finfo(float).tiny)
    tau = min(CLOSE, 1e-4 * goal.guess(value, first) / (ahead * scale))
    rounding = process.rounding(scale)
    # A step of either bound rounds a backup and a mixture.
    high = ahead * (2 * rounding + (tau + LEFT_OVER) * scale) + process.displaced * scale
    return Beginning(
        goal=goal,
        policies=_repeating(process, blind),
        informed=informed,
        least=value - off,
        first=first,
        first_upper_bound={**tried[0], "beside": tried[1:]},
        scale=scale,
        tau=tau,
        pad=0.0,
        shave=0.0,
        low_margin=2 * ahead * rounding,
        high_margin=high,
        ahead=ahead,
        floor=np.empty(0),
        hint=np.empty((len(process.rewards), 0)),
    )


def _ending(process: CornerProcess, clock: Clock, epsilon: Epsilon) -> Beginning:
    began = clock.seconds
    known = undiscounted_bounds(process, clock.share(INFORMED_SHARE))
    informed = informed_sweeps(process, known.most, clock.share(INFORMED_SHARE))
    first = min(upper_at_start(process, informed), upper_at_start(process, known.most))
    chosen = _tried("fast informed", first, clock.seconds - began)
    share, policies, least = clock.share(BLIND_SHARE), None, known.floor
    if np.isinf(known.floor).any():
        policies = ending_cycles(process, share)
        least = policies.vectors
    scale = max(float(np.abs(known.most).max()), float(np.abs(least).max()))
    scale = max(scale + float(np.abs(process.rewards).max()), np.finfo(float).tiny)
    rounding = process.rounding(scale)
    if policies is None:
        policies = _repeating(process, _blind_from_below(process, known.floor, share, rounding))
    value, off = process.value_at_start(policies.vectors)
    goal = goal_of_range(epsilon, CLOSED, float(known.most.max() - least.min()))
    ahead = 1 + min(float(process.start @ known.steps), LONG)
    tau = min(CLOSE, 1e-4 * goal.guess(value, first) / (ahead * scale))
    # As with a discount, but errors are paid for at each step.
    return Beginning(
        goal=goal,
        policies=policies,
        informed=informed,
        least=value - off,
        first=first,
        first_upper_bound={**chosen, "beside": []},
        scale=scale,
        tau=tau,
        pad=2 * rounding + (tau + LEFT_OVER) * scale,
        shave=2 * rounding,
        low_margin=rounding + process.displaced * scale,
        high_margin=(process.displaced + LEFT_OVER) * scale,
        ahead=ahead,
        floor=known.floor,
        hint=_sooner(process),
    )


def _tried(name: str, value: float, seconds: float) -> dict[str, Any]:
    return {"name": name, "value": value, "seconds": seconds}


def _repeating(process: CornerProcess, values: Floats) -> ValueFunction:
    """Policies that repeat one action each, with values (A, k)."""
    return ValueFunction.repeating(values, np.arange(len(values)), process.observations)


def _sooner(process: CornerProcess) -> Floats:
    """Approximate Q's of the decision problem with observed corners and a discount, (A, k)."""
    moves, values = transitions(process), np.zeros(process.k)
    hint = process.rewards
    for _ in range(HINT_SWEEPS):
        hint = process.rewards + HINT_DISCOUNT * (moves @ values).reshape(process.rewards.shape)
        values = hint.max(axis=0)
    return hint


def _blind_from_below(
    process: CornerProcess, floor: Floats, clock: Clock, rounding: float
) -> Floats:
    """Lower bounds (A, k) on the values of blind policies, by sweeps from the floor."""
    moves, values = transitions(process), np.tile(floor, (len(process.rewards), 1))
    for a, rewards in enumerate(process.rewards):
        rows = moves[a * process.k : (a + 1) * process.k]
        part = clock.share(1 / (len(values) - a))
        for _ in range(BLIND_SWEEPS):
            fresh = np.maximum(values[a], rewards + rows @ values[a] - rounding)
            gain = float((fresh - values[a]).max())
            values[a] = fresh
            if gain <= rounding or part.over:
                break
    return values
