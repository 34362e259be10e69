"""The number of steps to simulate, and a bound on the return of later steps.

If only the first T steps are simulated, a return with discount g < 1 changes by at most

    (g^T - g^h) / (1 - g) * max |r|,

where r are the model's expected rewards and h is the policy's horizon (g^h = 0 without one). T is
chosen so that this is at most half a standard error of the mean, estimated from a few episodes, or
`NEGLIGIBLE` times the largest possible return.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from rpsr.evaluation.episode_returns import returns
from rpsr.evaluation.greedy import horizon_of
from rpsr.evaluation.simulation import simulate
from rpsr.evaluation.stochastic import StochasticController
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.planning.reachable.plans import value_bounds
from rpsr.planning.value.policies import Policy, StagedPolicy
from rpsr.planning.value.trees import PolicyTree, TreePolicy

UNDISCOUNTED_STEPS = 100  # without a discount below 1
MOST_STEPS = 2000  # some seconds for a thousand episodes
PILOT = 100  # episodes that estimate the standard error
FORGOTTEN = 1e-3  # the discount weight after the steps of these episodes
NEGLIGIBLE = 1e-6


def cut_off(
    model: LinearModel, discount: float | None, steps: int, horizon: int | None = None
) -> float | None:
    """The largest absolute return of the steps after the first ones.

    None without a bound: if the discount is not below 1, or the model's domain, and so its largest
    reward, is unknown.
    """
    if horizon is not None and steps >= horizon:
        return 0.0
    bounds = value_bounds(model, 1.0)
    if bounds is None:
        return None
    if discount is None or discount >= 1:
        return None if horizon is None else (horizon - steps) * max(map(abs, bounds))
    weight = discount**steps - (0.0 if horizon is None else discount**horizon)
    return weight / (1 - discount) * max(map(abs, bounds))


def planned_steps(policy: StochasticController | Policy) -> int | None:
    """The number of steps that a policy has a plan for; None: infinite horizon."""
    match policy:
        case StagedPolicy():
            return horizon_of(policy)
        case TreePolicy(tree=PolicyTree(horizon=horizon)):
            return horizon
        case StochasticController(horizon=horizon):
            return horizon
        case _:
            return None


def enough_steps(
    system: POMDP | LinearModel,
    policy: StochasticController | Policy,
    models: Mapping[str, LinearModel],
    *,
    episodes: int,
    seed: int = 0,
) -> int:
    """Steps after which the later return is below the standard error.

    All steps of a policy with a horizon; `UNDISCOUNTED_STEPS` without a discount below 1; at most
    `MOST_STEPS`. episodes: how many will be simulated.
    """
    horizon = planned_steps(policy)
    if horizon is not None:
        return horizon
    discount = system.discount
    if discount is None or discount >= 1:
        return UNDISCOUNTED_STEPS
    first = _steps(discount, FORGOTTEN)
    pilot = simulate(
        system,
        policy,
        episodes=max(2, min(PILOT, episodes)),
        steps=first,
        seed=seed,
        ends=False,
    )
    needed = 1
    for model in models.values():
        largest = cut_off(model, discount, 0)
        if largest is None:
            needed = max(needed, first)
        elif largest > 0:
            error = returns(pilot, model, discount=discount).std(ddof=1) / math.sqrt(episodes)
            needed = max(needed, _steps(discount, max(error / 2 / largest, NEGLIGIBLE)))
    return needed


def _steps(discount: float, weight: float) -> int:
    """Steps after which the discount has fallen to a weight."""
    if discount <= 0 or weight >= 1:
        return 1
    return min(MOST_STEPS, math.ceil(math.log(weight) / math.log(discount)))
