"""The optimal value at the start of a model, proven or bounded, and the regret of an episode.

The regret of an episode is the optimum minus the episode's discounted return so far. A single
episode may have more luck than the optimum, so its regret may be negative; the mean over episodes
estimates how much worse the policy is than the best one. Steps after the end of a recording are
missing from the return: with T steps and rewards within [-r, r], by at most
discount^T r / (1 - discount).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rpsr.errors import InputError, ModelError
from rpsr.models.as_model import as_linear, wrong_type
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.planning import solve
from rpsr.planning.solution import Solution
from rpsr.showing import Shown

SECONDS = 10.0  # of planning, where the environment has to solve its model


@dataclass(frozen=True, repr=False)
class Optimum(Shown):
    """Bounds on the optimal value at the start, for the infinite horizon.

    lower, upper: proven bounds. solved: whether they are as close as the planner was asked for;
    otherwise `upper` is only a bound. status: the planner's words.
    """

    lower: float
    upper: float
    solved: bool
    status: str

    @staticmethod
    def of(model: POMDP | LinearModel, given: Any = True) -> Optimum:
        """The optimum of a model.

        given: a solution of the model, or True to plan for up to 10 seconds.
        """
        linear = as_linear(model)
        if not isinstance(given, Solution):
            if given is not True:
                raise wrong_type(given, "optimum", "True, False or a solution")
            if not linear.domain.known:
                raise ModelError(
                    f"optimum: the valid states of this {linear.kind} model are unknown, "
                    "so no upper bound on its optimum can be proven; leave out optimum"
                )
            given = solve(linear, "sarsop", time_limit=SECONDS)
        plan: Solution = given
        names = (plan.model.actions, plan.model.observations, plan.model.discount)
        if names != (linear.actions, linear.observations, linear.discount):
            raise InputError(
                "optimum: the solution is of a model with other actions, observations or discount"
            )
        if plan.horizon is not None:
            raise InputError(
                f"optimum: the solution has a horizon of {plan.horizon} steps, "
                "expected one for an infinite horizon"
            )
        if plan.upper is None or not plan.proven:
            raise InputError(
                f"optimum: the solution has no proven upper bound (status: {plan.status.value})"
            )
        return Optimum(plan.lower, plan.upper, plan.status.reached_goal, plan.status.value)

    def title(self) -> str:
        """A description in one line."""
        if self.solved:
            return f"optimum {self.upper:.9g}, proven within {self.upper - self.lower:.2g}"
        return f"optimum at most {self.upper:.9g}, at least {self.lower:.9g}"

    def facts(self) -> list[tuple[str, str]]:
        """The bounds and why planning stopped."""
        return [
            ("lower", f"{self.lower:.9g}"),
            ("upper", f"{self.upper:.9g}"),
            ("status", self.status),
        ]
