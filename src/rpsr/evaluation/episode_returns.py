"""Returns of episodes by a model's expected rewards: sum_t discount^t R(h_t, a_t).

The state x of the model is filtered along each action-observation sequence, all episodes together;
the reward of each step is x R[:, a]. Recorded rewards are not used. On one sequence a POMDP and its
R-PSR agree up to rounding; a PSR does so if and only if it is accurate on the states along the
sequence.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rpsr.errors import ImpossibleObservation, InputError
from rpsr.io.records import Floats, Ints
from rpsr.logs.trajectories import Trajectories
from rpsr.models.as_model import as_linear, wrong_type
from rpsr.models.filter_batch import filter_batch
from rpsr.models.linear import LinearModel
from rpsr.models.numbers import parse_discount
from rpsr.models.pomdp import POMDP

TOGETHER = 4096  # episodes filtered at once: enough for speed, few enough for memory


def returns(
    trajectories: Trajectories,
    model: POMDP | LinearModel,
    *,
    discount: float | str | None = None,
) -> Floats:
    """The discounted sum of a model's expected rewards along each episode, (N,).

    discount: replaces the model's; without any, rewards are not discounted. An observation that the
    model rules out is an `ImpossibleObservation` that names episode and step; an estimated model
    rules out none (`rpsr.models.RobustFilter`).
    """
    linear = as_linear(model)
    given: Any = trajectories
    if not isinstance(given, Trajectories):
        raise wrong_type(given, "trajectories", "episodes, as `simulate` returns them")
    for kind, mine, theirs in (
        ("actions", trajectories.action_names, linear.actions),
        ("observations", trajectories.observation_names, linear.observations),
    ):
        if mine != theirs:
            raise InputError(
                f"the episodes have the {kind} {', '.join(mine)}, expected those of the model, "
                f"in its order: {', '.join(theirs)}"
            )
    chosen = parse_discount(linear.discount if discount is None else discount)
    factor = 1.0 if chosen is None else float(chosen)
    total = np.zeros(trajectories.episodes)
    for first in range(0, len(total), TOGETHER):
        episodes = np.arange(first, min(first + TOGETHER, len(total)))
        total[episodes] = _returns(trajectories, linear, factor, episodes)
    return total


def recorded_returns(trajectories: Trajectories, discount: float | None) -> Floats:
    """The sum of each episode's recorded rewards, discounted unless that is None, (N,)."""
    rewards = trajectories.padded("rewards", 0.0)
    return rewards @ (1.0 if discount is None else discount) ** np.arange(rewards.shape[1])


def _returns(
    trajectories: Trajectories, model: LinearModel, discount: float, episodes: Ints
) -> Floats:
    """The returns of some episodes, filtered side by side, (B,) -> (B,)."""
    total = np.zeros(len(episodes))
    batch = filter_batch(model, len(episodes))
    lengths, first = trajectories.lengths[episodes], trajectories.offsets[episodes]
    weight, going = 1.0, np.arange(len(episodes))  # the episodes that `batch` still filters
    for step in range(int(lengths.max(initial=0))):
        lasting = np.flatnonzero(lengths[going] > step)
        going = going[lasting]
        batch.keep(lasting)
        actions = trajectories.actions[first[going] + step]
        total[going] += weight * np.einsum("bn,nb->b", batch.states, model.rewards[:, actions])
        weight *= discount
        lasting = np.flatnonzero(lengths[going] > step + 1)
        going = going[lasting]  # no state is needed after the last step
        batch.keep(lasting)
        actions = trajectories.actions[first[going] + step]
        observations = trajectories.observations[first[going] + step]
        possible = batch.update(actions, observations)
        if not possible.all():
            lost = int(possible.argmin())
            names = model.actions[actions[lost]], model.observations[observations[lost]]
            raise ImpossibleObservation(
                f"episode {episodes[going[lost]]}, step {step}: observation {names[1]!r} cannot "
                f"follow action {names[0]!r} in the {model.kind} model of {model.name}"
            )
    return total
