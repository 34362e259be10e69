"""Time limits of the planners in the portfolio: watches extend them while a planner progresses.

A planner has a clock of its own, whose time limit is at first short. A watch is called with every
row of progress and moves that limit, but never beyond the limit of the whole run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf, log10

from rpsr.planning.limits import Clock
from rpsr.planning.precision import Goal
from rpsr.planning.solution import ProgressRow

Watch = Callable[[ProgressRow, Clock], None]

PATIENCE, WORTH = 60.0, 0.05  # seconds in which the gap must narrow by this share of itself
SLOWER = 2.0  # each further decade of a residual takes up to this many times as long


class Promising:
    """Lets `vi` continue as long as it will probably prove its precision in the time that is left.

    The time for a decade of the residual is measured. The decades that are left, each taking
    `SLOWER` times as long as the one before, must fit into the time that is left, or, without a
    limit, into `PATIENCE`. When the gap at the start has reached the goal, `vi` stops if that is
    `enough`; else it has as long again to reach `proven`.
    """

    def __init__(self, whole: Clock, goal: Goal, proven: Goal, enough: bool) -> None:
        self._whole, self._goal, self._proven, self._enough = whole, goal, proven, enough
        self._least, self._since, self._began = inf, whole.seconds, whole.seconds

    def __call__(self, row: ProgressRow, clock: Clock) -> None:
        now, residual = clock.seconds, row.residual
        if reached(row, self._goal):
            again = 0.0 if self._enough else now - self._began
            clock.time_limit = min(clock.time_limit or inf, now + again)
            return
        if residual is None or residual >= self._least or row.gap is None:
            return
        took, decades = now - self._since, 1.0
        if self._least < inf and residual > 0:
            decades = log10(self._least / residual)
        self._least, self._since = residual, now
        assert row.lower is not None, "there is a gap"
        left = max(log10(row.gap / self._proven.at(row.lower, row.upper)), 0.0)
        needed = took / decades * sum(SLOWER ** (i + 1) for i in range(int(left) + 1))
        allowed = self._whole.seconds_left
        if needed <= (PATIENCE if allowed is None else allowed):
            until = max(clock.time_limit or 0.0, now + needed)
            whole = self._whole.time_limit
            clock.time_limit = until if whole is None else min(until, whole)


class OverTheDomain:
    """Shows a watch the proven error at every belief in place of the gap at the start."""

    def __init__(self, watch: Watch, ahead: float) -> None:
        """ahead: the sum of discounts, by which a residual becomes an error."""
        self._watch, self._ahead = watch, ahead

    def __call__(self, row: ProgressRow, clock: Clock) -> None:
        wrong = None if row.residual is None else row.residual * self._ahead
        self._watch(replace(row, gap=wrong), clock)


class Worthwhile:
    """Lets `sarsop` continue until the limit of the run or, without one, while the gap narrows."""

    def __init__(self, whole: Clock, goal: Goal | None) -> None:
        self._goal, self._limited, self._gap = goal, whole.time_limit is not None, inf
        self.until = whole.time_limit if self._limited else whole.seconds + PATIENCE

    def __call__(self, row: ProgressRow, clock: Clock) -> None:
        if self._goal is not None and reached(row, self._goal):
            clock.time_limit = clock.seconds
            return
        if not self._limited and row.gap is not None and row.gap <= (1 - WORTH) * self._gap:
            self._gap = row.gap
            clock.time_limit = clock.seconds + PATIENCE


def reached(row: ProgressRow, goal: Goal) -> bool:
    """Whether the gap of a row is small enough."""
    if row.lower is None or row.gap is None:
        return False
    return row.gap <= goal.at(row.lower, row.upper)
