"""Whether infinite sums of rewards converge; when two values are equal in floats."""

from __future__ import annotations

from rpsr.errors import ModelError
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP

NEAR_ONE = 1e-12  # of 1: a discount this close to it leaves 1 - discount few digits
ROUNDING = 1e-12  # of the scale of values: two one-step values this close are equal in floats
TIED = 4 * ROUNDING  # the same for values of which each may be off in either direction


def undiscounted(model: POMDP | LinearModel) -> bool:
    """Whether sums of rewards are not discounted."""
    return model.discount is None or model.discount >= 1


def planning_discount(model: LinearModel, horizon: int | None) -> float:
    """The model's discount; a `ModelError` where planning without a horizon would not converge.

    A model without a discount is planned without discounting, for a finite horizon only.
    """
    if horizon is None:
        return _converging(model, "plan with sarsop or hsvi, or give a horizon or a {}")
    if horizon < 1:
        raise ModelError(f"horizon: read {horizon}, expected at least 1")
    return 1.0 if model.discount is None else model.discount


def infinite_discount(model: LinearModel) -> float:
    """The model's discount for an infinite horizon; a `ModelError` where it is 1."""
    ways = "plan with sarsop or hsvi, or give a {}; over a horizon, plan with vi or reachable"
    return _converging(model, ways)


def _converging(model: LinearModel, advice: str) -> float:
    """The discount, if infinite sums converge; advice: {} stands for the discount needed."""
    discount = 1.0 if model.discount is None else model.discount
    if not model.domain.known:  # other planners need the valid states
        advice = "give a {}; without a discount, learn the model by em or last-k"
    if discount >= 1:
        has = "no discount" if model.discount is None else "discount 1"
        raise ModelError(
            f"{model.name} has {has}: the infinite sum of rewards need not converge; "
            + advice.format("discount below 1 (--discount, in Python model.with_discount)")
        )
    if discount > 1 - NEAR_ONE:
        raise ModelError(
            f"{model.name}: discount {discount!r} is too close to 1 for floats; "
            + advice.format("smaller discount")
        )
    return discount
