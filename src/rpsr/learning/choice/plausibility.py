"""Whether a plan made on a learned model can be believed.

A learned model may be inconsistent: its predictions may contradict each other, and a planner may
exploit that. Two checks catch it. The policy is simulated in the model it was planned on, and
should earn the planner's value. And no plan earns more than the best reward of the log at every
step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from rpsr.evaluation.episode_returns import recorded_returns
from rpsr.evaluation.simulation import simulate
from rpsr.logs.census import Census
from rpsr.models.linear import LinearModel
from rpsr.planning.solution import Solution

IMPOSSIBLE = 1e-3  # of the largest return that rewards allow: a value further above is impossible
DOUBT = 0.1  # of a value: a simulation further away contradicts it
MOST_STEPS, NEGLIGIBLE = 1000, 1e-3  # of an episode; the power of the discount that ends it


@dataclass(frozen=True)
class PlayedOut:
    """The simulated return of a plan in the model that it was made on.

    mean: the mean return of `steps` steps, and stderr: its standard error. doubt: the reason not to
    believe the model, or an empty string.
    """

    mean: float
    stderr: float
    steps: int
    doubt: str


def play_out(plan: Solution, *, episodes: int = 1000, seed: int = 0) -> PlayedOut | None:
    """Simulate a plan in its own model, and compare its return with the planner's value.

    None for a plan over a horizon, or without a discount between 0 and 1.
    """
    discount = plan.model.discount
    if plan.horizon is not None or discount is None or not 0 < discount < 1:
        return None
    steps = min(MOST_STEPS, math.ceil(math.log(NEGLIGIBLE) / math.log(discount)))
    mean, stderr = simulated_value(plan, plan.model, episodes, steps, seed)
    return PlayedOut(mean, stderr, steps, doubt(plan, mean, steps, stderr))


def simulated_value(
    plan: Solution, system: LinearModel, episodes: int, steps: int, seed: int
) -> tuple[float, float]:
    """The mean return of a plan's policy in a model, by simulation, and its standard error.

    The policy filters on the model it was planned on. The system draws observations from its own
    predictions and pays the rewards that it expects.
    """
    policy = plan.policy()
    log = simulate(
        system, policy, episodes=episodes, steps=steps, seed=seed, rewards=True, ends=False
    )
    values = recorded_returns(log, system.discount)
    return float(values.mean()), float(values.std() / math.sqrt(episodes))


def doubt(plan: Solution, played: float, steps: int, stderr: float = 0.0) -> str:
    """Why a model is inconsistent, if a plan's value differs from its simulated return; else "".

    played: the mean return of `steps` steps in the model of the plan; stderr: its standard error.
    The difference may be |value| (DOUBT + discount^steps) + 3 stderr.
    """
    left = 1.0 if plan.model.discount is None else plan.model.discount**steps
    room = (DOUBT + left) * max(abs(played), abs(plan.value)) + 3 * stderr
    if abs(played - plan.value) <= room:
        return ""
    return (
        f"simulated in its own model the policy earns {played:.4g}, not {plan.value:.4g}: the "
        "model is inconsistent, and the policy may be worth little"
    )


def too_good(plan: Solution, census: Census) -> str:
    """Why a plan's value is impossible, if it exceeds the best reward at every step; else ""."""
    discount = plan.model.discount
    low, high = census.low, census.high
    if low > high or discount is None or discount == 1:  # without rewards, none is too good
        return ""
    most = high / (1 - discount)
    if census.ended:  # an ended episode earns 0 from then on
        low, high, most = min(low, 0.0), max(high, 0.0), max(most, high)
    room = IMPOSSIBLE * max(high - low, abs(high)) / (1 - discount)
    if plan.value <= most + room:
        return ""
    return (
        f"the planner promises {plan.value:.4g}, and the rewards of the log add up to at most "
        f"{most:.4g}: the model is inconsistent, and the policy may be worth less"
    )
