"""Estimators by name, with their parameters; those of other packages, too."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from rpsr.errors import DataError
from rpsr.learning.base import Estimator
from rpsr.planning.convergence import NEAR_ONE
from rpsr.registry import Registry

ESTIMATORS = Registry(
    "estimator",
    "rpsr.estimators",
    {
        "em": "rpsr.learning.em.estimator:EMRPSR",
        "spectral": "rpsr.learning.spectral.estimators:SpectralRPSR",
        "discovered": "rpsr.learning.spectral.discovery:DiscoveredRPSR",
        "psr": "rpsr.learning.spectral.estimators:SpectralPSR",
        "last-k": "rpsr.learning.last_k:LastKTable",
    },
)
ON_COMMAND_LINE = ("rank", "behaviour", "device", "time_limit")  # options of `rpsr learn`


def streams(name: str) -> bool:
    """Whether an estimator, by its name, reads a log as a stream, not into memory."""
    return ESTIMATORS.get(name).streams


def estimator_options(name: str) -> tuple[str, ...]:
    """The parameters that an estimator has, by its name."""
    return tuple(field.name for field in fields(ESTIMATORS.get(name)) if field.init)


def estimator_by_name(name: str, /, **options: Any) -> Estimator:
    """An estimator by its name, with parameters; None leaves a parameter at its default.

    rank: the parameter of that name or, where an estimator has another for the size of its model
    (`em`: states, `last-k`: k), that one. A parameter that the estimator does not have is a
    `DataError`.
    """
    kind, known = ESTIMATORS.get(name), estimator_options(name)
    given = {key: value for key, value in options.items() if value is not None}
    if "rank" in given and "rank" not in known and kind.rank_parameter in known:
        if kind.rank_parameter in given:
            raise DataError(
                f"read rank and {kind.rank_parameter}, which mean the same; give one of them"
            )
        given[kind.rank_parameter] = given.pop("rank")
    for option in given:
        if option not in known:
            flag = f" (--{option.replace('_', '-')})" if option in ON_COMMAND_LINE else ""
            raise DataError(
                f"estimator {name} has no parameter {option!r}{flag}; its parameters are "
                f"{', '.join(known)}"
            )
    return kind(**given)


def configured(
    name: str,
    /,
    *,
    discount: float | None,
    plan: bool = False,
    seed: int = 0,
    **options: Any,
) -> Estimator:
    """The estimator that `learn` would fit; a `DataError` for wrong arguments, before any log.

    discount and seed are parameters of the estimator if it has them.
    """
    if plan and (discount is None or discount > 1 - NEAR_ONE):
        raise DataError(
            f"discount: read {discount}, expected one below 1 to choose among plans by a log; "
            "without one, learn a model and plan on it (rpsr solve)"
        )
    common = {"discount": discount, "seed": seed}
    common = {key: common[key] for key in common if key in estimator_options(name)}
    made = estimator_by_name(name, **common, **options)
    made.check()
    return made
