"""Which family of rewards EM fits to a log.

In the fitted POMDP, a reward depends on the state and the action, and the observation on the action
and the next state. If the log's rewards are a function of action and observation, such as 1 for
every purchase that is observed, this independence is wrong: the likelihood of both together is
higher with states that know the next observation in advance. EM then invents such states, and plans
trust them. But the reward says nothing then that the observation does not say. So it is left out of
the likelihood (the family 'none'), and the states' mean rewards are fitted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.logs.trajectories import Trajectories

RewardFamily = Literal["categorical", "gaussian", "none"]
FEW_VALUES = 16  # 'auto': at most this many distinct rewards are categories
MOST_VALUES = 256  # distinct rewards that are counted one by one
REPEATS = 5  # steps per interaction that show its reward


@dataclass(frozen=True, eq=False)
class RewardRanges:
    """The rewards after each action and observation: low, high (A, O), infinite where there is no
    step; steps (A, O), their numbers. Ranges of parts of a log can be added.
    """

    low: Floats = field(default_factory=lambda: np.full((1, 1), np.inf))
    high: Floats = field(default_factory=lambda: np.full((1, 1), -np.inf))
    steps: Ints = field(default_factory=lambda: np.zeros((1, 1), np.int64))

    @staticmethod
    def of(log: Trajectories) -> RewardRanges:
        """The ranges in a log with rewards."""
        sizes = len(log.action_names), len(log.observation_names)
        low, high = np.full(sizes, np.inf), np.full(sizes, -np.inf)
        rewards, cells = log.rewards_for("learning"), (log.actions, log.observations)
        np.minimum.at(low, cells, rewards)
        np.maximum.at(high, cells, rewards)
        numbers = np.ravel_multi_index(cells, sizes)
        steps = np.bincount(numbers, minlength=sizes[0] * sizes[1]).reshape(sizes)
        return RewardRanges(low, high, steps)

    def __add__(self, other: RewardRanges) -> RewardRanges:
        return RewardRanges(
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.steps + other.steps,
        )

    @property
    def determined(self) -> bool:
        """Whether action and observation determine the reward, and action alone does not.

        A log with few steps per interaction does not show that, nor do interactions that occur
        once, whose rewards agree in any case.
        """
        occurs, often = self.steps > 0, self.steps >= REPEATS
        if (self.low[occurs] != self.high[occurs]).any():
            return False
        low = np.where(often, self.low, np.inf).min(axis=1)
        high = np.where(often, self.high, -np.inf).max(axis=1)
        return bool((low < high).any() and self.steps.sum() >= REPEATS * occurs.sum())


def family_of(
    asked: RewardFamily | Literal["auto"], values: int, ranges: RewardRanges
) -> RewardFamily:
    """The family of rewards. values: the number of distinct rewards."""
    if asked != "auto":
        return asked
    if values <= MOST_VALUES and ranges.determined:
        return "none"
    return "categorical" if values <= FEW_VALUES else "gaussian"
