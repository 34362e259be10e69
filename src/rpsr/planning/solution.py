"""The result of planning: a value, proven bounds, the reason for stopping, and a policy.

A planner is a frozen dataclass of keyword hyper-parameters with one method,
`solve(model, progress) -> Solution`. It has no state. Users call `rpsr.planning.solve`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from rpsr.errors import InputError
from rpsr.io.records import Floats, Ints
from rpsr.models.linear import LinearModel
from rpsr.planning.value.point_bounds import PointBounds
from rpsr.planning.value.value_function import ValueFunction
from rpsr.showing import Shown, counted

if TYPE_CHECKING:
    from rpsr.planning.certifying import Certificate
    from rpsr.planning.value.policies import Policy


class Status(Enum):
    """Why planning stopped.

    The value of each member is a sentence; after a limit, it also says what to do next.
    """

    SOLVED = "solved: the value is proven to the precision of epsilon, as given or by default"
    EXACT = (
        "solved exactly: only finitely many states are reachable, and the problem over them is "
        "solved to machine precision"
    )
    ROUNDING = "solved as far as floats allow: the remaining gap is rounding error"
    HORIZON = "solved: the plan is exact for the whole horizon"
    TIME = "stopped by the time limit: the bounds hold; set a longer limit to narrow the gap"
    MEMORY = "stopped by the memory limit: the bounds hold; set a larger limit to narrow the gap"
    ITERATIONS = (
        "stopped by the iteration limit: the bounds hold; set a larger limit to narrow the gap"
    )
    SIZE = "stopped: too many states or vectors; the bounds hold; try another planner"
    SETTLED = (
        "settled: this planner cannot narrow the gap further; the bounds hold; "
        "use sarsop or vi, or raise the limit on points or states, if there is one"
    )
    STALLED = (
        "stopped: the gap narrowed by less than 5% within a minute; the bounds hold; "
        "set a time limit to continue for longer"
    )
    INTERRUPTED = "interrupted: the bounds hold; more time would narrow the gap"
    NO_UPPER_BOUND = (
        "settled: the model's valid states are unknown, so no upper bound can be proven"
    )

    @property
    def reached_goal(self) -> bool:
        """Whether the goal was reached, rather than a limit.

        Where no upper bound can be proven, the goal is that further backups change nothing.
        """
        return self.certified or self in (Status.EXACT, Status.HORIZON, Status.NO_UPPER_BOUND)

    @property
    def certified(self) -> bool:
        """Whether a precision was proven: the requested one, or the best possible in floats."""
        return self in (Status.SOLVED, Status.ROUNDING)


@dataclass(frozen=True)
class ProgressRow:
    """One row of progress; None for numbers that a planner does not have."""

    seconds: float
    iteration: int
    lower: float | None = None
    upper: float | None = None
    gap: float | None = None
    residual: float | None = None
    vectors: int | None = None
    points: int | None = None
    programs: int | None = None

    def __str__(self) -> str:
        """The time and the bounds in one line."""
        parts = [f"{self.seconds:.1f} s", f"iteration {self.iteration}"]
        for name in ("lower", "upper", "gap", "residual"):
            value: float | None = getattr(self, name)
            parts += [] if value is None else [f"{name} {value:.6g}"]
        return ", ".join(parts)


Progress = Callable[[ProgressRow], None]


def silent(row: ProgressRow) -> None:
    """A progress callback that does nothing."""


@dataclass(frozen=True, eq=False, repr=False)
class Solution(Shown):
    """The result of planning on a linear model of dimension n.

    value: of the returned policy at the start (a lower bound where only bounds are known).
    lower, upper: bounds on the optimal value at the start; upper is None where none is proven.
    residual: the proven Bellman residual, or None. epsilon: the certified error of the value
    function over the domain, or None; over the reachable states if the status is `EXACT`.
    value_function: vectors (K, n) with their actions and successors; `vectors`, `actions` and
    `successors` are its arrays. horizon: None for the infinite horizon, else the number of steps;
    stages then has the value functions for 1, 2, ... steps.
    seconds: of planning, without compiling kernels. compile_seconds: waited for kernels to be
    compiled. compiled: whether none was still missing at the limit.
    points: what proves the upper bound, if the planner kept it (`keep_points`).
    """

    planner: str
    model: LinearModel
    status: Status
    value: float
    lower: float
    upper: float | None
    residual: float | None
    epsilon: float | None
    value_function: ValueFunction
    iterations: int
    seconds: float
    horizon: int | None = None
    seed: int | None = None
    trace: tuple[ProgressRow, ...] = ()
    stages: tuple[ValueFunction, ...] = ()
    extras: dict[str, Any] = field(default_factory=dict[str, Any])
    points: PointBounds | None = None
    compile_seconds: float = 0.0
    compiled: bool = True

    @property
    def vectors(self) -> Floats:
        """The vectors of the value function, (K, n)."""
        return self.value_function.vectors

    @property
    def actions(self) -> Ints:
        """The action of each vector, (K,)."""
        return self.value_function.actions

    @property
    def successors(self) -> Ints:
        """The vector that follows each observation, (K, O), -1 where unknown."""
        return self.value_function.successors

    @property
    def gap(self) -> float | None:
        """Upper minus lower at the start."""
        return None if self.upper is None else self.upper - self.lower

    @property
    def message(self) -> str:
        """Why planning stopped, and what to do next."""
        unfit = self.extras.get("unfit")
        if unfit is None or self.status is not Status.TIME:
            return self.status.value
        return (
            f"stopped before the time limit: {unfit} would not fit into the time left; the bounds "
            "hold; set a longer limit to narrow the gap"
        )

    @property
    def undiscounted(self) -> bool:
        """Whether it is a plan for an infinite horizon without a discount."""
        discount = self.model.discount
        return self.horizon is None and (discount is None or discount >= 1)

    @property
    def proven(self) -> bool:
        """Whether the bounds hold for the model; not if its valid states are unknown.

        Then `lower` allows for errors at some states only, and a learned model may predict negative
        numbers. The error of a basis that was found in floats is an estimate (see `Core.error`);
        bounds on the PSR or the R-PSR of a POMDP in floats hold if the estimate does.
        """
        return self.model.domain.known

    def title(self) -> str:
        """A description in one line."""
        ahead = "" if self.horizon is None else f" for {counted(self.horizon, 'step')}"
        model = f"{self.model.kind} model of {self.model.name!r}"
        return f"plan of {self.planner} on the {model}{ahead}: value {self.value:.6g}"

    def facts(self) -> list[tuple[str, str]]:
        """The value, its bounds, and the effort."""
        between = f"{self.lower:.9g}, no upper bound"
        if self.upper is not None:
            between = f"{self.lower:.9g} to {self.upper:.9g}, {self.upper - self.lower:.2g} apart"
        if not self.proven:
            between += "; nothing is proven, because the model's valid states are unknown"
        error = [] if self.epsilon is None else [("largest error", f"at most {self.epsilon:.3g}")]
        effort = f"{counted(self.iterations, 'iteration')} in {self.seconds:.3g} seconds"
        return [
            ("value", f"{self.value:.9g}"),
            ("bounds", between),
            *error,
            ("status", self.message),
            ("vectors", str(len(self.value_function))),
            ("effort", effort),
        ]

    def _repr_html_(self) -> str:
        """The facts, and a plot of the bounds over time if the trace has some."""
        bounded = [row for row in self.trace if row.lower is not None and row.upper is not None]
        if len(bounded) < 2:
            return super()._repr_html_()
        # Plots are in a higher layer and need matplotlib, so the import is here.
        from rpsr.report.plots.planning import plot_bounds
        from rpsr.report.plots.svg import svg_image

        drawn = svg_image(plot_bounds(self), alt="bounds on the value at the start over time")
        return f"{super()._repr_html_()}{drawn}"

    def policy(self) -> Policy:
        """The policy of the plan: `act` returns an action, `update` receives the observation.

        For an infinite horizon it looks one step ahead with the value function and takes the best
        action; for a finite one it follows the planned tree. Without a discount it follows the
        plan's controller, because a look ahead might postpone the end indefinitely. Where the
        bounds are proven, it earns at least `lower`, up to rounding.
        """
        if self.undiscounted:
            from rpsr.planning.value.controllers import extract_controller

            return extract_controller(self).policy()
        if self.horizon is None:
            return self.value_function.policy(self.model)
        from rpsr.planning.value.trees import PolicyTree

        return PolicyTree.of(self).policy()

    def certificate(self) -> Certificate:
        """A proof of both bounds in exact numbers; `save` writes it for `rpsr verify`.

        For plans on a POMDP. `rpsr.certify` also takes plans on an R-PSR.
        """
        from rpsr.planning.certifying import certify

        return certify(self)

    def value_at(self, states: Floats) -> Floats:
        """The value function at a batch of states, (B, n) -> (B,), or at one, (n,) -> (1,)."""
        given, n = np.atleast_2d(np.asarray(states)), self.model.dimension
        if given.dtype.kind not in "fiu" or given.ndim != 2 or given.shape[1] != n:
            read = f"shape {given.shape}" if given.dtype.kind in "fiu" else type(states).__name__
            raise InputError(f"states: read {read}, expected numbers of shape (states, {n})")
        return self.value_function.at(given.astype(np.float64))


@runtime_checkable
class Planner(Protocol):
    """A frozen dataclass of hyper-parameters that can solve a linear model."""

    @property
    def name(self) -> str:
        """The planner's name on the command line."""
        ...

    def solve(self, model: LinearModel, progress: Progress) -> Solution:
        """Plan. `progress` is called with one row from time to time, at no fixed rate."""
        ...
