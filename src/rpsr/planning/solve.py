"""The verb of planning: `solve(model, planner)`, and planners by the names users give."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from typing import Any

from rpsr.errors import InputError
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.planning.solution import Planner, Progress, ProgressRow, Solution

# Where each planner lives: found when asked for, so that naming one does not compile another.
_PLANNERS = {
    "vi": ("rpsr.planning.exact", "ValueIteration"),
    "enumeration": ("rpsr.planning.enumeration", "Enumeration"),
    "reachable": ("rpsr.planning.reachable", "Reachable"),
    "hsvi": ("rpsr.planning.anytime", "HSVI"),
    "sarsop": ("rpsr.planning.anytime", "SARSOP"),
    "pbvi": ("rpsr.planning.pbvi", "PBVI"),
    "perseus": ("rpsr.planning.perseus", "Perseus"),
    "qmdp": ("rpsr.planning.bound_planners", "QMDP"),
    "fib": ("rpsr.planning.bound_planners", "FastInformedBound"),
    "policy-iteration": ("rpsr.planning.policy_iteration", "PolicyIteration"),
    "q-learning": ("rpsr.planning.q_learning", "QLearning"),
}
PLANNER_NAMES = tuple(_PLANNERS)


def solve(
    model: POMDP | LinearModel, planner: Planner, *, progress: Progress | None = None
) -> Solution:
    """Plan on a POMDP (its belief model) or on any linear model.

    progress: called with a `ProgressRow` now and then.
    """
    linear = model.belief_model() if isinstance(model, POMDP) else model
    return planner.solve(linear, progress or _silent)


def planner_by_name(name: str, **options: Any) -> Planner:
    """A planner by its name, with hyper-parameters; those that are None are left at their default.

    An option that the planner does not have is an `InputError`.
    """
    known = planner_options(name)
    given = {key: value for key, value in options.items() if value is not None}
    for option in given:
        if option not in known:
            raise InputError(f"planner {name} has no {option}; it has {', '.join(known)}")
    return _kind(name)(**given)


def planner_options(name: str) -> tuple[str, ...]:
    """The hyper-parameters that a planner has, by its name."""
    return tuple(field.name for field in fields(_kind(name)))


def _kind(name: str) -> Any:
    if name not in _PLANNERS:
        raise InputError(f"no planner is called {name!r}; there is {', '.join(PLANNER_NAMES)}")
    module, attribute = _PLANNERS[name]
    return getattr(import_module(module), attribute)


def _silent(row: ProgressRow) -> None:
    """Progress that nobody watches."""
