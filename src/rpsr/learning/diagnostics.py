"""How good a model is: what it predicts along episodes that it has not seen.

The run-time filter follows each episode on actions and observations alone (`learned.filtered`). At
every step the model states a distribution of the next observation, whose log-likelihood is
averaged, and an expected reward, whose error is squared.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rpsr.errors import InputError
from rpsr.io.records import Floats
from rpsr.learning.learned import Filtered, filtered, log_chances
from rpsr.logs.trajectories import Trajectories
from rpsr.models.linear import LinearModel

BINS = 10


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What held-out episodes say of a model.

    loglik: of an observation given the past and the action, per step. reward_rmse: of the expected
    reward, and reward_std: of always expecting the mean reward; None without rewards.
    negative_mass: the mean probability mass below zero, per step. resets: how often the filter lost
    its way. steps: of the log. calibration (BINS, 3): for observations predicted with a
    probability in a bin, the mean prediction, how often they came, and how many there were.
    """

    loglik: float
    reward_rmse: float | None
    reward_std: float | None
    negative_mass: float
    resets: int
    steps: int
    calibration: Floats

    @staticmethod
    def of(said: Filtered, log: Trajectories) -> Diagnosis:
        """The judgement of a log on what a model said of each of its steps."""
        if log.steps == 0:
            raise InputError("the log has no steps to judge a model by")
        errors = None if log.rewards is None else log.rewards - said.rewards
        return Diagnosis(
            loglik=float(log_chances(said, log).mean()),
            reward_rmse=None if errors is None else float(np.sqrt((errors**2).mean())),
            reward_std=None if log.rewards is None else float(log.rewards.std()),
            negative_mass=said.negative / log.steps,
            resets=said.resets,
            steps=log.steps,
            calibration=_calibration(said, log),
        )


def diagnose(model: LinearModel, log: Trajectories) -> Diagnosis:
    """Follow episodes with a model and judge its predictions of every step."""
    return Diagnosis.of(filtered(model, log), log)


def _calibration(said: Filtered, log: Trajectories) -> Floats:
    came = np.zeros_like(said.predictions)
    came[np.arange(log.steps), log.observations] = 1.0
    which = np.minimum((said.predictions * BINS).astype(np.int64), BINS - 1).reshape(-1)
    columns = (said.predictions, came, np.ones_like(came))
    bins = np.zeros((BINS, 3))
    for i, column in enumerate(columns):
        bins[:, i] = np.bincount(which, column.reshape(-1), minlength=BINS)
    some = bins[:, 2] > 0
    bins[some, :2] /= bins[some, 2:]
    return bins
