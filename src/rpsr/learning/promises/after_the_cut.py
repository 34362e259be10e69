"""The return after the last recorded step of episodes that were cut off.

Task i still runs when its recording stops after T_i steps. From the steps from half of the mean T_i
on come the hazard h, ends of tasks per step, and b, the mean reward of steps that end a task. The
mean reward a_i of the later half of recording i stands for its later steps that end nothing:

    rest_i = discount^T_i r_i / (1 - discount (1 - h)),      r_i = (1 - h) a_i + h b.

This is the expected return of a task with rewards r_i and a constant hazard h; after the end of a
task the rest is 0. Without ends, h = 0: rewards a_i at all later steps.
"""

from __future__ import annotations

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.logs.trajectories import Trajectories

LATE = 2  # the later half of an episode stands for the steps after its recording


def returns_of(log: Trajectories, discount: float) -> tuple[Floats, Floats]:
    """The discounted return of each episode, with its rest, and that rest, (N,) each."""
    rewards = log.rewards_for("a promise")
    lengths, running = log.lengths, ~log.terminated
    episode = np.repeat(np.arange(log.episodes), lengths)
    step = np.arange(log.steps) - log.offsets[episode]
    earned = np.bincount(episode, discount**step * rewards, minlength=log.episodes)
    late = step >= lengths[episode] // LATE
    counts = np.bincount(episode[late], minlength=log.episodes)
    sums = np.bincount(episode[late], rewards[late], minlength=log.episodes)
    hazard, at_ends = _ends(log, rewards, step)
    rate = (1 - hazard) * sums / np.maximum(counts, 1) + hazard * at_ends
    rest = running * discount**lengths * rate / (1 - discount * (1 - hazard))
    return earned + rest, rest


def _ends(log: Trajectories, rewards: Floats, step: Ints) -> tuple[float, float]:
    """The hazard of ends per late step, and the mean reward of the steps that end a task."""
    cut = log.lengths[~log.terminated & (log.lengths > 0)]
    if not len(cut):
        return 0.0, 0.0
    first = int(cut.mean()) // LATE
    ends = log.ends[step[log.ends] >= first]
    if not len(ends):
        return 0.0, 0.0
    return len(ends) / int((step >= first).sum()), float(rewards[ends].mean())
