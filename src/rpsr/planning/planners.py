"""`solve(model, planner)`, and planners by name."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from rpsr.errors import InputError
from rpsr.live import live_line
from rpsr.models.as_model import as_linear, as_pomdp, wrong_type
from rpsr.models.linear import LinearModel
from rpsr.models.objectives import Objective
from rpsr.models.pomdp import POMDP
from rpsr.planning.convergence import undiscounted
from rpsr.planning.solution import Planner, Progress, ProgressRow, Solution, silent
from rpsr.registry import Registry

PLANNERS = Registry(
    "planner",
    "rpsr.planners",
    {
        "auto": "rpsr.planning.portfolio.planner:Auto",
        "vi": "rpsr.planning.exact.value_iteration:ValueIteration",
        "enumeration": "rpsr.planning.exact.enumeration:Enumeration",
        "reachable": "rpsr.planning.reachable.planner:Reachable",
        "hsvi": "rpsr.planning.anytime.planners:HSVI",
        "sarsop": "rpsr.planning.anytime.planners:SARSOP",
        "pbvi": "rpsr.planning.points.pbvi:PBVI",
        "perseus": "rpsr.planning.points.perseus:Perseus",
        "qmdp": "rpsr.planning.points.baselines:QMDP",
        "fib": "rpsr.planning.points.baselines:FastInformedBound",
        "policy-iteration": "rpsr.planning.exact.policy_iteration:PolicyIteration",
        "q-learning": "rpsr.planning.points.q_learning:QLearning",
    },
)
DEFAULT = "auto"  # stands for the planner that `default_planner` chooses
PLANNER_NAMES = tuple(PLANNERS.own)  # those of this library


def solve(
    model: POMDP | LinearModel,
    planner: Planner | str | None = None,
    *,
    objective: Objective | None = None,
    progress: Progress | bool | None = None,
    **options: Any,
) -> Solution:
    """Plan on a POMDP (on its beliefs) or on any linear model.

    planner: a planner or a planner's name; by default that of `default_planner`.
    objective: what to achieve on a POMDP, such as `rpsr.reach("goal")`; the plan is one for its
    task, `objective.task(pomdp)`; with a number of steps and a planner without a horizon, such as
    the default, for its `objective.timed_task(pomdp)`. By default the sum of rewards, discounted
    as the model says.
    options: hyper-parameters of a planner given by name, such as `time_limit=10`.
    progress: called with a `ProgressRow` from time to time. True shows the latest one, as a line
    that is updated, in a notebook or on a terminal.
    """
    if objective is not None:
        model, options = _tasked(model, planner, objective, options)
    linear = as_linear(model)
    chosen: Any = planner
    if planner is None or (isinstance(planner, str) and planner == DEFAULT):
        chosen = default_planner(linear, horizon=options.get("horizon"))
    if isinstance(chosen, str):
        chosen = planner_by_name(chosen, **options)
    elif isinstance(chosen, type) or not callable(getattr(chosen, "solve", None)):
        raise wrong_type(planner, "planner", "a planner or a planner's name")
    elif options:
        raise InputError(
            f"{next(iter(options))}: options can be given only with a planner's name; "
            f"set them in {type(planner).__name__}(...)"
        )
    if progress is not True:
        return chosen.solve(linear, progress or silent)
    with live_line(f"planning on {linear.name}") as say:

        def show(row: ProgressRow) -> None:
            if say is not None:
                say(str(row))

        return chosen.solve(linear, show)


def _tasked(
    model: Any, planner: Any, objective: Any, options: dict[str, Any]
) -> tuple[POMDP, dict[str, Any]]:
    """The task of an objective, and the options with its number of steps.

    A planner without a horizon gets a task that ends after that number.
    """
    if not isinstance(objective, Objective):
        raise wrong_type(objective, "objective", "an objective, such as rpsr.reach('goal')")
    pomdp = as_pomdp(model, "model")
    if objective.within is None:
        return objective.task(pomdp), options
    if "horizon" in options:
        raise InputError(
            "horizon, within: read both, expected only one: within is the objective's number of "
            "steps"
        )
    if planner is not None and not isinstance(planner, str):
        raise InputError(
            "within: an objective with a number of steps needs a planner's name; with a planner "
            "object, set its horizon instead"
        )
    if planner in (None, DEFAULT) or "horizon" not in planner_options(planner):
        return objective.timed_task(pomdp), options
    return objective.task(pomdp), {"horizon": objective.within, **options}


def default_planner(model: POMDP | LinearModel, *, horizon: int | None = None) -> str:
    """The name of the planner that suits a model, `auto` if nothing speaks against it.

    A finite horizon is planned by `vi`, which needs a known domain, as `auto` does. On a learned
    model exact planning may take very long, and its values are the model's, not the system's. So
    `pbvi` is chosen there, unless a horizon is given and the domain is known, or `sarsop`, if it
    has no discount.
    """
    linear = as_linear(model)
    known = linear.domain.known
    if known and horizon is not None:
        return "vi"
    if not known or linear.estimated:
        return "sarsop" if known and undiscounted(linear) else "pbvi"
    return DEFAULT


def planner_by_name(name: str, **options: Any) -> Planner:
    """A planner by its name, with hyper-parameters; None stands for the default.

    An option that the planner does not have is an `InputError`.
    """
    known = planner_options(name)
    given = {key: value for key, value in options.items() if value is not None}
    for option in given:
        if option not in known:
            raise InputError(
                f"planner {name} has no option {option}; choose from {', '.join(known)}"
            )
    return PLANNERS.get(name)(**given)


def planner_options(name: str) -> tuple[str, ...]:
    """The hyper-parameters that a planner has, by its name."""
    return tuple(field.name for field in fields(PLANNERS.get(name)) if field.init)
