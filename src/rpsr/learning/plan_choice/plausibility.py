"""Whether a plan made on a learned model can be believed.

A learned model may be inconsistent: its predictions may contradict each other, and a planner may
exploit that. Two checks catch it. The policy is simulated in the model it was planned on, and
should earn the planner's value (`play_out`, for `choose` and `rpsr solve` alike). And no plan earns
more than the best reward of the log at every step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from rpsr.evaluation.episode_returns import recorded_returns
from rpsr.evaluation.simulation import simulate
from rpsr.evaluation.systems import ending_observations
from rpsr.io.records import Floats
from rpsr.logs.census import Census
from rpsr.logs.trajectories import Trajectories
from rpsr.models.filter_batch import filter_batch
from rpsr.models.linear import LinearModel
from rpsr.planning.solution import Solution

IMPOSSIBLE = 1e-3  # of the largest return that rewards allow: a value further above is impossible
DOUBT = 0.1  # of a value: a simulation further away contradicts it
PRECISION = 1e-3  # of the absolute rewards: smaller errors may be the planner's
MOST_STEPS, NEGLIGIBLE = 1000, 1e-3  # of an episode; the power of the discount that ends it


@dataclass(frozen=True)
class PlayedOut:
    """The simulated return of a plan in the model that it was made on.

    mean: the mean return, over `steps` simulated steps and, from the states reached then, by the
    plan's value function; stderr: its standard error. doubt: the reason not to believe the model,
    or an empty string. shares: of the steps before the task ends, by action, the most frequent
    first; empty if the policy observes nothing before it acts.
    """

    mean: float
    stderr: float
    steps: int
    doubt: str
    shares: dict[str, float] = field(default_factory=dict[str, float])


def play_out(plan: Solution, *, episodes: int = 1000, seed: int = 0) -> PlayedOut | None:
    """Simulate a plan in its own model, and compare its return with the planner's value.

    If the model is consistent, the return of T steps plus discount^T V(x_T) has the mean V(x_0).
    The difference may be DOUBT max(|mean|, |value|) + PRECISION size + 3 stderr, where size is the
    mean of the same sum with absolute values: where rewards and costs cancel, the value alone says
    little about the error of a planner.

    None for a plan over a horizon, or without a discount between 0 and 1.
    """
    discount = plan.model.discount
    if plan.horizon is not None or discount is None or not 0 < discount < 1:
        return None
    steps = min(MOST_STEPS, math.ceil(math.log(NEGLIGIBLE) / math.log(discount)))
    log = _simulated(plan, plan.model, episodes, steps, seed)
    rewards, factors = log.padded("rewards", 0.0), discount ** np.arange(steps)
    later = discount**steps * plan.value_function.at(_last_states(plan.model, log))
    values = rewards @ factors + later
    size = float((np.abs(rewards) @ factors + np.abs(later)).mean())
    mean, stderr = float(values.mean()), float(values.std() / math.sqrt(episodes))
    room = DOUBT * max(abs(mean), abs(plan.value)) + PRECISION * size + 3 * stderr
    doubt = "" if abs(mean - plan.value) <= room else _inconsistent(mean, plan.value)
    return PlayedOut(mean, stderr, steps, doubt, _shares(plan.model, log))


def _shares(model: LinearModel, log: Trajectories) -> dict[str, float]:
    """The shares of actions in the steps of simulated episodes until the task ends."""
    over = ending_observations(model)[log.padded("observations", 0)]
    before = np.cumsum(over, axis=1) - over == 0  # no earlier observation ended the task
    if not before[:, 1:].any():
        return {}
    counts = np.bincount(log.padded("actions", 0)[before], minlength=len(model.actions))
    order = np.argsort(-counts, kind="stable").tolist()
    return {model.actions[a]: float(counts[a] / counts.sum()) for a in order if counts[a]}


def _inconsistent(played: float, value: float) -> str:
    return (
        f"the policy earns {played:.4g} when simulated in its own model, and the planner's value "
        f"is {value:.4g}: the model is inconsistent, and the policy may earn little"
    )


def simulated_value(
    plan: Solution, system: LinearModel, episodes: int, steps: int, seed: int
) -> float:
    """The mean return of a plan's policy in a model, by simulation.

    The policy filters on the model it was planned on. The system draws observations from its own
    predictions and pays the rewards that it expects.
    """
    log = _simulated(plan, system, episodes, steps, seed)
    return float(recorded_returns(log, system.discount).mean())


def _simulated(
    plan: Solution, system: LinearModel, episodes: int, steps: int, seed: int
) -> Trajectories:
    """Episodes of a plan's policy in a model, with its expected rewards; all have all steps."""
    policy = plan.policy()
    return simulate(
        system, policy, episodes=episodes, steps=steps, seed=seed, rewards=True, ends=False
    )


def _last_states(model: LinearModel, log: Trajectories) -> Floats:
    """The state of a model after the last step of each of N episodes of equal length, (N, n)."""
    batch = filter_batch(model, log.episodes)
    steps = zip(log.padded("actions", 0).T, log.padded("observations", 0).T, strict=True)
    for actions, observations in steps:
        batch.update(actions, observations)
    return batch.states


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
        f"the planner's value is {plan.value:.4g}, and the rewards of the log allow a return of "
        f"at most {most:.4g}: the model is inconsistent, and the policy may earn less"
    )
