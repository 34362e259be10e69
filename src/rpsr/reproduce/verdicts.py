"""Does a computed number agree with a printed one? The rule, in one place.

A number printed with d decimals means any number within h = 0.5 * 10^-d of it. The paper's mean
over N = 1,000 episodes has the standard error (s + h) / sqrt(N), at most, if its standard deviation
is printed as s. If the exact expectation is v, the distance is

    z = max(0, |printed - v| - h) / standard error

in standard errors. If the returns of a model's optimal policies fill a range, v is the nearest
number of that range. If only our own estimate is known, the squares of the two standard errors add.
The verdict is *agrees* up to z = 2; *agrees, barely* up to 3, which chance explains for one or two
of 48 cells; and *differs* above, with a reason.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from rpsr.reproduce import paper

NEAR, FAR = 2.0, 3.0


class Verdict(Enum):
    """The verdict on a printed number or sentence; the value is the text that is shown."""

    AGREES = "agrees"
    CHANCE = "agrees, barely"
    QUALIFIED = "holds, with a qualification"
    DIFFERS = "differs"
    OPEN = "not checked"


@dataclass(frozen=True)
class Judgement:
    """A verdict on one printed cell: the distance in standard errors, and the reason if any."""

    verdict: Verdict
    distance: float
    reason: str = ""


def half_a_unit(printed: str) -> float:
    """How far a number may be from its printed form."""
    decimals = len(printed.partition(".")[2])
    return 0.5 * 10.0**-decimals


def rounds_to(value: float, printed: str) -> bool:
    """Whether a number, rounded to as many decimals, is the printed one; a tie rounds both ways."""
    return abs(value - float(printed)) <= half_a_unit(printed) * (1 + 1e-9)


def standard_error(cell: paper.Cell, episodes: int = paper.EPISODES) -> float:
    """The largest standard error that a printed cell can have."""
    return (float(cell.std) + half_a_unit(cell.std)) / math.sqrt(episodes)


def judge(
    cell: paper.Cell, low: float, high: float, *, stderr: float = 0.0, reason: str = ""
) -> Judgement:
    """A printed cell against a number in [low, high], itself known to within a standard error.

    reason: the explanation of a difference; used only if there is one.
    """
    printed = float(cell.mean)
    nearest = min(max(printed, low), high)
    beyond = max(0.0, abs(printed - nearest) - half_a_unit(cell.mean) * (1 + 1e-9))
    distance = beyond / math.hypot(standard_error(cell), stderr)
    if distance <= NEAR:
        return Judgement(Verdict.AGREES, distance)
    verdict = Verdict.CHANCE if distance <= FAR else Verdict.DIFFERS
    return Judgement(verdict, distance, reason or "no reason is known")
