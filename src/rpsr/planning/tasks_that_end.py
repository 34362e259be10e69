"""Planners for discounted sums on tasks without a discount that every policy ends.

The task is planned in other units, in which it has a discount (`corners/discounted_form`), and the
plan is converted back: vectors, bounds and rows of progress. A precision is divided by the largest
number of steps, so that it holds at every state.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rpsr.models.linear import LinearModel
from rpsr.planning.autosave import Saving
from rpsr.planning.corners.corner_model import corner_process
from rpsr.planning.corners.discounted_form import DiscountedForm, discounted_form
from rpsr.planning.limits import Clock
from rpsr.planning.solution import Progress, ProgressRow, Solution
from rpsr.planning.value.value_function import ValueFunction

if TYPE_CHECKING:
    from rpsr.planning.runner import BasePlanner


def solve_task_that_ends(
    planner: BasePlanner,
    model: LinearModel,
    progress: Progress,
    earlier: ValueFunction | None,
    solve: Callable[[BasePlanner, LinearModel, Progress, ValueFunction | None], Solution],
) -> Solution:
    """Plan on a task without a discount by a planner that needs one.

    solve: runs a planner on a model. A `ModelError` if some policy never ends.
    """
    clock = Clock(progress, planner.time_limit, planner.memory_limit)
    form = discounted_form(corner_process(model), planner.name, clock)
    longest = float(form.weights.max(initial=1.0))
    other: dict[str, Any] = {"time_limit": clock.seconds_left}
    if isinstance(planner.epsilon, float | int):
        other["epsilon"] = planner.epsilon / longest
    if getattr(planner, "faces", False) is not False:
        other["faces"] = False  # a plan proven on faces only needs the model to look ahead
    if earlier is not None:
        earlier = replace(earlier, vectors=form.forth(earlier.vectors))
    solution = solve(replace(planner, **other), form.model, _Scaled(progress, form, model), earlier)
    return _back(solution, form, model)


def _back(solution: Solution, form: DiscountedForm, model: LinearModel) -> Solution:
    """The plan for the task."""
    longest = float(form.weights.max(initial=1.0))
    extras = dict(solution.extras)
    if "bound" in extras:
        extras["bound"] = form.back(extras["bound"])
    return replace(
        solution,
        model=model,
        value=solution.value * form.whole,
        lower=solution.lower * form.whole - form.margin,
        upper=None if solution.upper is None else solution.upper * form.whole + form.margin,
        residual=None if solution.residual is None else solution.residual * longest,
        epsilon=None if solution.epsilon is None else solution.epsilon * longest + form.margin,
        value_function=replace(solution.value_function, vectors=form.back(solution.vectors)),
        trace=tuple(_row(row, form) for row in solution.trace),
        extras=extras,
    )


def _row(row: ProgressRow, form: DiscountedForm) -> ProgressRow:
    """A row of progress in the task's units."""
    lower = None if row.lower is None else row.lower * form.whole - form.margin
    upper = None if row.upper is None else row.upper * form.whole + form.margin
    gap = None if lower is None or upper is None else upper - lower
    longest = float(np.max(form.weights, initial=1.0))
    residual = None if row.residual is None else row.residual * longest
    return replace(row, lower=lower, upper=upper, gap=gap, residual=residual)


class _Scaled(Saving):
    """Passes progress on in the task's units, and saves plans for the task."""

    def __init__(self, progress: Progress, form: DiscountedForm, model: LinearModel) -> None:
        self.progress, self.form, self.model = progress, form, model

    def __call__(self, row: ProgressRow) -> None:
        self.progress(_row(row, self.form))

    def offer(self, make: Callable[[], Solution]) -> None:
        """Register how to make a solution of the planner's current state."""
        if isinstance(self.progress, Saving):
            self.progress.offer(lambda: _back(make(), self.form, self.model))

    def look(self) -> None:
        """Save the current solution, if due."""
        if isinstance(self.progress, Saving):
            self.progress.look()
