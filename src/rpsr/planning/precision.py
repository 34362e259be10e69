"""The precision of planning: `epsilon` as users give it, and as planners use it.

    None            a share of the range of values, (max R - min R) / (1 - discount): the default,
                    `PROVEN` of it for planners that prove a value function, `CLOSED` for those that
                    close a gap at the start, `MERGED` for the cost of merging states
    a number        in units of reward
    Relative(0.01)  one per cent of the optimal value at the start, or of `NEAR_ZERO` times the
                    range of values, if that is more, so that it is above 0 if the value is 0

Where rounding prevents a smaller gap, a planner stops with `Status.ROUNDING`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rpsr.errors import InputError
from rpsr.io.records import Floats
from rpsr.models.linear import LinearModel

PROVEN, CLOSED, MERGED = 1e-9, 1e-6, 1e-12  # of the range of values, by default
NEAR_ZERO = 1e-6  # of the range of values
GUESS = 1e-2  # of the larger bound: for a share of a value that is not yet known


@dataclass(frozen=True)
class Relative:
    """A precision that is a share of the optimal value at the start: 0.01 is one per cent."""

    share: float


Epsilon = float | Relative | None


def check_epsilon(epsilon: Epsilon) -> None:
    """Refuse a precision that is not a finite number above 0."""
    number = epsilon.share if isinstance(epsilon, Relative) else epsilon
    known: Any = number
    if number is not None and not (isinstance(known, float | int) and 0 < number < np.inf):
        raise InputError(f"epsilon: read {number!r}, expected a finite number above 0")


@dataclass(frozen=True)
class Goal:
    """A gap that is small enough: `least`, or `share` of the value, which the bounds enclose."""

    least: float
    share: float = 0.0

    def at(self, lower: float, upper: float | None) -> float:
        """The gap that is small enough, given bounds on the value at the start."""
        surely = max(lower, 0.0 if upper is None else -upper, 0.0)
        return max(self.least, self.share * surely)

    def guess(self, lower: float, upper: float | None) -> float:
        """An estimate of it, for use before the value is known."""
        largest = max(abs(lower), abs(lower if upper is None else upper))
        return max(self.at(lower, upper), GUESS * self.share * largest)


def goal_of(
    epsilon: Epsilon, default: float, model: LinearModel, ahead: float, met: Floats | None = None
) -> Goal:
    """The goal that an epsilon stands for.

    default: the share of the range of values if epsilon is None. ahead: the sum of discounts.
    met (B, n): states in place of an unknown domain; by default the start.
    """
    check_epsilon(epsilon)
    if isinstance(epsilon, float | int):
        return Goal(float(epsilon))
    rewards = model.start[None] @ model.rewards if met is None else met @ model.rewards
    if model.domain.known:
        rewards = model.domain.at_corners(model.rewards)
    wide = float(np.ptp(rewards)) or float(np.abs(rewards).max()) or 1.0
    return goal_of_range(epsilon, default, wide * ahead)


def goal_of_range(epsilon: Epsilon, default: float, wide: float) -> Goal:
    """The goal that an epsilon stands for, if values range over this interval's width."""
    check_epsilon(epsilon)
    if isinstance(epsilon, float | int):
        return Goal(float(epsilon))
    if epsilon is None:
        return Goal(default * wide)
    return Goal(epsilon.share * NEAR_ZERO * wide, epsilon.share)
