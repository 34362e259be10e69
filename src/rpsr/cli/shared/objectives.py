"""Options that state an objective, shared by verbs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from rpsr.cli.shared.options import at_least, whole

if TYPE_CHECKING:
    from rpsr.models import POMDP, LinearModel
    from rpsr.models.objectives import Objective

GOAL_HELP = (
    "What to reach: names of states, labels of a PRISM or DRN file, or observations, separated by "
    "commas; !NAME means all states but NAME."
)


@Parameter(name="*")
@dataclass(frozen=True)
class GoalOptions:
    """The objective, instead of the discounted sum of rewards, in any number of steps."""

    goal: Annotated[str | None, Parameter(help=GOAL_HELP)] = None
    avoid: Annotated[str | None, Parameter(help="What never to reach, given as for --goal.")] = None
    maximise: Annotated[
        Literal["probability", "reward"] | None,
        Parameter(
            help="Maximise the probability of reaching the goal (the default with --goal), or the "
            "undiscounted sum of rewards."
        ),
    ] = None
    minimise: Annotated[
        Literal["cost"] | None,
        Parameter(help="Minimise the undiscounted sum of costs (negative rewards) until the goal."),
    ] = None

    @property
    def steps(self) -> int | None:
        """The number of steps in which the objective counts."""
        return None

    @property
    def objective(self) -> Objective | None:
        """The objective; None if no option was given."""
        from rpsr.errors import InputError
        from rpsr.models.objectives import Objective

        if self.maximise is not None and self.minimise is not None:
            raise InputError("--maximise and --minimise: expected only one of the two")
        measure = self.minimise or self.maximise
        if measure is None and self.goal is None:
            if self.avoid is not None or self.steps is not None:
                if self.avoid is not None:
                    raise InputError("--avoid: expected with --goal, which is missing")
                raise InputError("--within: expected with --goal, --maximise or --minimise")
            return None
        if measure in (None, "probability") and self.goal is None:
            raise InputError("--maximise probability: expected with --goal, which is missing")
        if measure not in (None, "probability") and self.avoid is not None:
            other = "--minimise cost" if measure == "cost" else "--maximise reward"
            raise InputError(f"--avoid: expected without {other}; leave out one of the two")
        return Objective(measure or "probability", self.goal, self.avoid, self.steps)

    def check(self, discount: object) -> None:
        """Refuse a discount beside an objective that has none."""
        from rpsr.errors import InputError

        if self.objective is not None and discount is not None:
            raise InputError(
                "--discount: expected without --goal, --maximise and --minimise, which do not "
                "discount; leave out --discount"
            )


@Parameter(name="*")
@dataclass(frozen=True)
class LogGoalOptions(GoalOptions):
    """The options of an objective for a log.

    Goals are observations, because a log shows no states.
    """

    goal: Annotated[
        str | None,
        Parameter(help="The observations that end an episode successfully, separated by commas."),
    ] = None
    avoid: Annotated[
        str | None,
        Parameter(help="The observations that end an episode as a failure, separated by commas."),
    ] = None


@Parameter(name="*")
@dataclass(frozen=True)
class ObjectiveOptions(GoalOptions):
    """The options of an objective for a model: `GoalOptions`, and a limit on the steps."""

    within: Annotated[
        int | None,
        Parameter(
            converter=whole,
            validator=at_least(1),
            help="With --goal, --maximise or --minimise: the number of steps after which the task "
            "ends; by default no limit.",
        ),
    ] = None

    @property
    def steps(self) -> int | None:
        """The number of steps in which the objective counts."""
        return self.within

    def pomdp(self, pomdp: POMDP) -> POMDP:
        """The task on a POMDP, which ends after the number of steps; itself without an objective.

        Verbs other than `solve` use it.
        """
        return pomdp if self.objective is None else self.objective.timed_task(pomdp)

    def task(
        self, model: POMDP | LinearModel, source: str, *, timed: bool = False
    ) -> POMDP | LinearModel:
        """The task of the objective on a model; the model itself without an objective.

        timed: whether it ends after the number of steps, if there is one.
        """
        from rpsr.errors import InputError
        from rpsr.models import POMDP

        objective = self.objective
        if objective is None:
            return model
        if not isinstance(model, POMDP):
            raise InputError(
                "--goal, --maximise and --minimise need a POMDP, and the file holds a "
                f"{model.kind} model; use them when the model is made, with 'rpsr convert' or "
                "'rpsr learn'",
                place=source,
            )
        return objective.timed_task(model) if timed else objective.task(model)
