"""The best bounds of several planners that run one after the other on one model.

Each bound is proven by itself, so the largest lower and the smallest upper one hold together. The
policy is that of the planner with the best lower bound. A stand-in is the exception: it has a
policy for the start alone, where one for every belief is asked for. So the policy of any other
planner, with its lower bound, replaces it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from rpsr.planning.autosave import Saving
from rpsr.planning.convergence import ROUNDING
from rpsr.planning.limits import Clock
from rpsr.planning.portfolio.patience import Watch
from rpsr.planning.precision import Goal
from rpsr.planning.runner import Run
from rpsr.planning.solution import ProgressRow, Solution, Status
from rpsr.planning.value.value_function import ValueFunction

FIRST_UPPER = "first_upper_bound"  # in `Solution.extras`


@dataclass
class Answers:
    """The bounds that the planners of a run have proven so far.

    best: the solution with the largest lower bound; None before the first one. upper: the smallest
    upper bound, and `upper_by` its planner. iterations: of all planners that have ended. stand_in:
    whether the next solution replaces `best`, whatever its bound. first_upper: facts on the first
    upper bound of the search, as in `Solution.extras`; None if no planner has given them.
    """

    run: Run
    best: Solution | None = None
    upper: float = float("inf")
    upper_by: str = ""
    iterations: int = 0
    stand_in: bool = False
    first_upper: dict[str, Any] | None = None

    def add(self, plan: Solution, upper_by: str | None = None, *, stand_in: bool = False) -> None:
        """Take the better bounds of a planner that has ended."""
        self.best, self.upper, self.upper_by = self._better(plan, upper_by)
        self.stand_in = stand_in
        self.first_upper = plan.extras.get(FIRST_UPPER, self.first_upper)
        self.iterations += plan.iterations
        self.run.offer(lambda: self.solution(Status.INTERRUPTED))

    def _better(self, plan: Solution, by: str | None = None) -> tuple[Solution, float, str]:
        best, upper, upper_by = self.best, self.upper, self.upper_by
        if best is None or self.stand_in or plan.lower > best.lower:
            best = plan
        if plan.upper is not None and plan.upper < upper:
            upper, upper_by = plan.upper, by or plan.planner
        return best, upper, upper_by

    def reached(self, goal: Goal) -> bool:
        """Whether the gap between the best bounds is small enough."""
        assert self.best is not None, "a planner has ended"
        return self.upper - self.best.lower <= goal.at(self.best.lower, self.upper)

    @property
    def policy(self) -> ValueFunction:
        """The vectors of the best lower bound."""
        assert self.best is not None, "a planner has ended"
        return self.best.value_function

    def joined(self, row: ProgressRow) -> ProgressRow:
        """A planner's row of progress, with the best bounds and the iterations of all."""
        lowest = [low for low in (row.lower, self.best and self.best.lower) if low is not None]
        lower, upper = max(lowest, default=None), self.upper
        upper = upper if row.upper is None else min(row.upper, upper)
        gap = None if lower is None or upper == float("inf") else max(upper - lower, 0.0)
        return replace(
            row,
            iteration=self.iterations + row.iteration,
            lower=lower,
            upper=None if upper == float("inf") else upper,
            gap=gap,
        )

    def solution(self, status: Status, also: Solution | None = None) -> Solution:
        """The solution of the run; also: that of a planner that has not ended."""
        known = (self.best, self.upper, self.upper_by) if also is None else self._better(also)
        best, upper, upper_by = known
        assert best is not None, "a planner has ended, or its solution is given"
        if best.lower - upper <= ROUNDING * best.value_function.largest:
            upper = max(upper, best.lower)  # bounds that cross by more remain visible
        first_upper = (best if also is None else also).extras.get(FIRST_UPPER, self.first_upper)
        return replace(
            best,
            planner=self.run.planner.name,
            status=status,
            upper=upper,
            epsilon=best.epsilon if status.reached_goal else None,
            iterations=self.iterations + (0 if also is None else also.iterations),
            seconds=self.run.clock.seconds,
            compile_seconds=self.run.clock.cutoff.seconds,
            compiled=not self.run.clock.cutoff.unfinished,
            seed=getattr(self.run.planner, "seed", None),
            trace=tuple(self.run.clock.rows),
            extras={
                # What stopped one planner early says nothing of the run.
                **{key: value for key, value in best.extras.items() if key != "unfit"},
                FIRST_UPPER: first_upper,
                "proven_by": {"lower": best.planner, "upper": upper_by},
            },
        )

    def clock(self, until: float | None, watch: Watch | None) -> Clock:
        """A clock for one planner, whose rows of progress and solutions are those of the run.

        until: when it ends, on the clock of the run. watch: called with each row and this clock,
        whose time limit it may move.
        """
        whole = self.run.clock
        clock = replace(whole, time_limit=until, rows=[], held=0)  # a part counts its own memory
        clock.progress = _Relay(self, clock, watch)
        return clock


@dataclass
class _Relay(Saving):
    """Passes the progress of one planner on to the run, with the best bounds of all."""

    answers: Answers
    clock: Clock
    watch: Watch | None

    def __call__(self, row: ProgressRow) -> None:
        joined = self.answers.joined(row)
        self.answers.run.clock.report(joined)
        if self.watch is not None:
            self.watch(joined, self.clock)

    def offer(self, make: Callable[[], Solution]) -> None:
        """Register how to make a solution of the planner's current state."""
        answers = self.answers
        answers.run.clock.offer(lambda: answers.solution(Status.INTERRUPTED, make()))

    def look(self) -> None:
        """Save the current solution, if due."""
        self.answers.run.clock.check()
