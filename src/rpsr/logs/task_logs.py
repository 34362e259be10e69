"""A log as one of an objective's task: the goal ends episodes, and rewards are the objective's.

A log shows no states, so sets are observations. An episode ends with the first observation of the
goal or to avoid: the task has terminated there. For a probability, the observation of the goal
earns 1 and nothing else earns anything, whatever was recorded; so the log needs no rewards.
Episodes that end otherwise are left as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rpsr.errors import DataError, InputError
from rpsr.io.records import Bools, Floats
from rpsr.logs.parts import Chunks, cut, partitions
from rpsr.logs.trajectories import Trajectories
from rpsr.models.objectives import Objective, mixed_signs
from rpsr.models.state_sets import chosen


@dataclass(frozen=True)
class TaskLog:
    """The chunks of a log, as those of an objective's task; iteration can be repeated."""

    chunks: Chunks
    objective: Objective

    def partitions(self) -> Sequence[Chunks]:
        """The parts of the log."""
        return [TaskLog(part, self.objective) for part in partitions(self.chunks)]

    @property
    def first_episode(self) -> Any:
        """The number of the first episode, if the chunks are a part of a log that says it."""
        return getattr(self.chunks, "first_episode", None)

    def __iter__(self) -> Iterator[Trajectories]:
        """The chunks."""
        return (_of_task(chunk, self.objective) for chunk in self.chunks)


def check_objective(objective: Objective, chunks: Chunks) -> None:
    """An `InputError` or a `DataError` unless logs can have the objective.

    Costs need rewards of one sign in the whole log.
    """
    if objective.measure == "discounted":
        raise InputError(
            "objective: read a discounted sum of rewards, which needs no objective; leave it out "
            "and give the discount"
        )
    if objective.within is not None:
        raise InputError(
            "within: a model cannot be learned for a limited number of steps; learn without "
            "`within`, then plan with a horizon (rpsr solve --horizon)"
        )
    if objective.measure != "cost":
        return
    low = high = 0.0
    for chunk in chunks:
        rewards = chunk.rewards_for("costs")
        low, high = float(rewards.min(initial=low)), float(rewards.max(initial=high))
    if low < 0 < high:
        raise DataError(mixed_signs(low, high))


def task_log(log: Trajectories, objective: Objective) -> Trajectories:
    """The log of an objective's task, to learn a model of that task from, with discount 1.

    Each episode ends at the first observation of the goal or to avoid; for a probability, the goal
    earns 1. An `InputError` for sets that are not observations, and for a number of steps.
    """
    check_objective(objective, (log,))
    return _of_task(log, objective)


def _of_task(log: Trajectories, objective: Objective) -> Trajectories:
    goal, avoid = _observed(log, objective.goal, "goal"), _observed(log, objective.avoid, "avoid")
    ending = (goal | avoid)[log.observations]
    episode = np.repeat(np.arange(log.episodes), log.lengths)
    position = np.arange(log.steps) - np.repeat(log.offsets[:-1], log.lengths)
    sizes = log.lengths.copy()
    np.minimum.at(sizes, episode[ending], position[ending] + 1)
    ended = np.zeros(log.episodes, np.bool_)
    ended[episode[ending]] = True
    part = cut(log, sizes, last=False)
    return replace(
        part,
        rewards=_rewards(part, objective, goal),
        terminated=part.terminated | ended,
        truncated=part.truncated & ~ended,
    )


def _rewards(log: Trajectories, objective: Objective, goal: Bools) -> Floats:
    if objective.measure == "probability":
        return goal[log.observations].astype(float)
    rewards = log.rewards_for("a sum of rewards")
    return -np.abs(rewards) if objective.measure == "cost" else rewards


@dataclass(frozen=True)
class _Names:
    """The names of a log, which has no states and labels."""

    observations: tuple[str, ...]
    labels: Mapping[str, tuple[int, ...]]
    states: tuple[str, ...] = ()


def _observed(log: Trajectories, given: Any, what: str) -> Bools:
    """The observations of a set, (O,); none if no set was given."""
    if given is None:
        return np.zeros(len(log.observation_names), np.bool_)
    return chosen(_Names(log.observation_names, {}), given, what).observations
