"""The parts that all planners share: a clock, limits, Ctrl-C, progress, a trace, a solution.

A planner is a frozen dataclass of hyper-parameters, and its file is its algorithm:

    @dataclass(frozen=True)
    class Mine(BasePlanner):
        name = "mine"

        def plan(self, run: Run) -> Solution:
            search = Search(run.corners())
            run.offer(lambda: search.solution(run, Status.INTERRUPTED))
            status = run.attempt(lambda: search.until(self.epsilon, run))
            return search.solution(run, status)

`BasePlanner.solve` takes a POMDP or a linear model and makes the `Run`; Ctrl-C before a planner has
a solution gives a cheap one (see `cheap_plan`); `attempt` turns limits and Ctrl-C into the status
of a solution; `run.report` adds a row to the trace; `run.solution` fills in the common fields. A
planner that can continue an earlier run is a `ResumablePlanner` and uses `run.earlier`.

Kernels are compiled until the time limit or Ctrl-C. One that is missing then is a `LimitReached` in
`attempt`, and in the rest of `plan` if the answer can be a cheap plan. Without a discount, the rest
of `plan` is interpreted instead: planners without a discount do little there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar

from rpsr.arguments import whole
from rpsr.compile_limit import compiling_until
from rpsr.kernels import interpreted_first
from rpsr.models.as_model import as_linear
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.planning.cheap_plan import cheap_plan, has_cheap_plan
from rpsr.planning.convergence import ROUNDING, undiscounted
from rpsr.planning.corners.corner_model import CornerProcess, corner_process
from rpsr.planning.files.checkpoint import Checkpoint
from rpsr.planning.limits import Clock, LimitReached
from rpsr.planning.precision import Epsilon, check_epsilon
from rpsr.planning.solution import Progress, ProgressRow, Solution, Status, silent
from rpsr.planning.tasks_that_end import solve_task_that_ends
from rpsr.planning.value.value_function import ValueFunction

SMALL = 5000  # numbers in all operators, if dense: planning may take less than a second

WHOLE = {"horizon", "max_iterations", "max_states", "max_points", "memory_limit", "seed", "tilings"}


class Run:
    """One run of a planner on a model.

    earlier: the result of an earlier run to continue from, or None.
    """

    def __init__(
        self,
        planner: BasePlanner,
        model: LinearModel,
        progress: Progress,
        earlier: ValueFunction | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.planner, self.model, self.earlier = planner, model, earlier
        self.unfit: str | None = None  # work that would not fit into the time left
        self.clock = clock or Clock(progress, planner.time_limit, planner.memory_limit)

    @cached_property
    def process(self) -> CornerProcess | None:
        """The model at its corners, made once; None if its domain is unknown."""
        return corner_process(self.model) if self.model.domain.known else None

    def corners(self) -> CornerProcess:
        """The model at its corners; its memory counts against the limit."""
        process = self.process or corner_process(self.model)  # which says what is missing
        self.clock.hold_model(process.nbytes)
        return process

    def part(self, planner: BasePlanner, clock: Clock, earlier: ValueFunction | None) -> Run:
        """A part of this run by another planner, with a clock of its own, on the same corners."""
        part = Run(planner, self.model, clock.progress, earlier, clock)
        part.__dict__["process"] = self.process
        return part

    def offer(self, make: Callable[[], Solution]) -> None:
        """Register how to make a solution of the current state (see `autosave`)."""
        self.clock.offer(make)

    def attempt(self, search: Callable[[], Status]) -> Status:
        """The status of a search: the one it returns, or that of a limit or Ctrl-C."""
        try:
            with compiling_until(self.clock.cutoff):
                return search()
        except LimitReached as limit:
            self.unfit = limit.unfit
            return limit.status
        except KeyboardInterrupt:
            self.clock.cutoff.stopped = True
            return Status.INTERRUPTED

    def report(
        self, iteration: int, lower: float | None, upper: float | None, **counts: Any
    ) -> None:
        """Add a row to the trace and pass it on; counts: the other columns of `ProgressRow`."""
        gap = None if lower is None or upper is None else max(upper - lower, 0.0)
        row = ProgressRow(self.clock.seconds, iteration, lower, upper, gap, **counts)
        self.clock.report(row)

    def solution(
        self,
        status: Status,
        value_function: ValueFunction,
        bounds: tuple[float, float | None],
        *,
        value: float,
        iterations: int,
        residual: float | None = None,
        epsilon: float | None = None,
        stages: tuple[ValueFunction, ...] = (),
        **extras: Any,
    ) -> Solution:
        """The solution of the run; bounds: lower and upper.

        Upper is raised to lower if it is below it by rounding; bounds that cross by more are a
        mistake, and remain visible. extras: results that only this planner has.
        """
        lower, upper = float(bounds[0]), None if bounds[1] is None else float(bounds[1])
        if upper is not None and lower - upper <= ROUNDING * value_function.largest:
            upper = max(upper, lower)
        return Solution(
            planner=self.planner.name,
            model=self.model,
            status=status,
            value=float(value),
            lower=lower,
            upper=upper,
            residual=None if residual is None else float(residual),
            epsilon=None if epsilon is None else float(epsilon),
            value_function=value_function,
            iterations=iterations,
            seconds=self.clock.seconds,
            horizon=getattr(self.planner, "horizon", None),
            seed=getattr(self.planner, "seed", None),
            trace=tuple(self.clock.rows),
            compile_seconds=self.clock.cutoff.seconds,
            compiled=not self.clock.cutoff.unfinished,
            stages=stages,
            extras=extras if self.unfit is None else extras | {"unfit": self.unfit},
        )


@dataclass(frozen=True)
class BasePlanner(ABC):
    """Base class of the planners of rpsr.

    epsilon: the precision, in units of reward, or as a share of the value at the start
    (`Relative`); by default a small share of the range of values (see `precision`).
    time_limit: in seconds. memory_limit: in bytes.
    """

    name: ClassVar[str]  # on the command line
    # Whether `plan` itself plans without a discount; else it gets such a task in a form that has
    # one (see `tasks_that_end`).
    without_discount: ClassVar[bool] = False

    epsilon: Epsilon = None
    time_limit: float | None = None
    memory_limit: int | None = None

    def solve(self, model: POMDP | LinearModel, progress: Progress | None = None) -> Solution:
        """Plan on a POMDP (on its beliefs) or on a linear model.

        progress: called with a `ProgressRow` from time to time. A `ModelError` if the planner
        cannot plan on this model.
        """
        return self.run_on(model, progress, None)

    def run_on(
        self, model: POMDP | LinearModel, progress: Progress | None, earlier: ValueFunction | None
    ) -> Solution:
        """Plan as `solve` does; earlier: the result of an earlier run to continue from, or None."""
        linear = as_linear(model)
        self._check()
        whole = getattr(self, "horizon", None) is None
        if whole and undiscounted(linear) and linear.domain.known and not self.without_discount:
            tell = progress or silent
            return solve_task_that_ends(self, linear, tell, earlier, BasePlanner.run_on)
        n_actions, n_observations, n = linear.operators.shape
        with interpreted_first(n_actions * n_observations * n * n <= SMALL):
            run = Run(self, linear, progress or silent, earlier)
            cutoff = run.clock.cutoff
            try:
                endless = whole and linear.domain.known
                with compiling_until(
                    cutoff if endless else None, interpret=not has_cheap_plan(run)
                ):
                    return self.plan(run)
            except (KeyboardInterrupt, LimitReached) as stopped:  # before there is a solution
                why = Status.INTERRUPTED
                if isinstance(stopped, LimitReached) and not cutoff.stopped:
                    why = stopped.status
                plan = cheap_plan(run, run.clock.hurried(), why)
                if plan is None:
                    raise
                return plan

    def _check(self) -> None:
        """Refuse hyper-parameters that are not numbers, or not whole where they must be."""
        check_epsilon(self.epsilon)
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in WHOLE and value is not None:
                whole(field.name, value)

    @abstractmethod
    def plan(self, run: Run) -> Solution:
        """The algorithm."""


@dataclass(frozen=True)
class ResumablePlanner(BasePlanner):
    """A planner that can continue from the result of an earlier run."""

    def resume(
        self, model: POMDP | LinearModel, progress: Progress | None, checkpoint: Checkpoint
    ) -> Solution:
        """Plan as `solve` does, starting from a checkpoint's value function."""
        return self.run_on(model, progress, checkpoint.controller)
