"""The accuracy of a model's predictions on held-out episodes.

The robust filter follows each episode on actions and observations alone
(`estimated_models.filtered`). At every step the model predicts a distribution of the next
observation, whose log-likelihood is averaged, and a reward, whose squared error is averaged. All
results are sums over steps, so a log may come in chunks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from rpsr.errors import DataError
from rpsr.io.records import Floats
from rpsr.learning.estimated_models import Filtered, filtered, log_chances
from rpsr.learning.prepared_log import Logs, PreparedLog
from rpsr.logs.trajectories import Trajectories
from rpsr.models.linear import LinearModel

BINS = 10
EXACT = 1e-3  # of the standard deviation of rewards: smaller errors count as this


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """The accuracy of a model on held-out episodes.

    loglik: of an observation given the history and the action, per step. reward_rmse: the root mean
    squared error of expected rewards, and reward_std: that of the mean reward as a prediction; None
    without rewards. negative_mass: the mean negative probability mass per step. resets: how often
    the filter restarted. steps: of the log. calibration (BINS, 3): for each bin of predicted
    probabilities, the mean prediction, the observed frequency, and the number of predictions.
    """

    loglik: float
    reward_rmse: float | None
    reward_std: float | None
    negative_mass: float
    resets: int
    steps: int
    calibration: Floats

    @property
    def score(self) -> float:
        """loglik - log(reward_rmse / reward_std): observations and rewards in one number.

        Up to a constant of the log, this is the log-likelihood per step of observations and of
        rewards with Gaussian errors. reward_rmse is at least `EXACT` reward_std here; constant
        rewards contribute 0.
        """
        if not self.reward_std or self.reward_rmse is None:
            return self.loglik
        return self.loglik - float(np.log(max(self.reward_rmse / self.reward_std, EXACT)))


def diagnose(model: LinearModel, logs: Logs) -> Diagnosis:
    """Evaluate a model's predictions at every step of a log."""
    seen = PreparedLog.of(logs).as_seen_by(model)
    return judged((filtered(model, log), log) for log in seen)


def judged(predictions: Iterable[tuple[Filtered, Trajectories]]) -> Diagnosis:
    """The diagnosis of a log, in chunks, from the predictions at every step."""
    chance = squares = negative = 0.0
    resets = steps = episodes = 0
    rewarded, spread = True, Spread()
    bins = np.zeros((BINS, 3))
    for predicted, log in predictions:
        chance += float(log_chances(predicted, log).sum())
        negative += predicted.negative
        resets += predicted.resets
        steps += log.steps
        bins += _binned(predicted, log)
        if log.rewards is None:
            rewarded = False
        else:
            squares += float(((log.rewards - predicted.rewards) ** 2).sum())
            spread.add(log.rewards)
        episodes += log.episodes
    if steps == 0:
        raise DataError("the log has no steps, expected at least one to evaluate a model")
    some = bins[:, 2] > 0
    bins[some, :2] /= bins[some, 2:]
    return Diagnosis(
        loglik=chance / steps,
        reward_rmse=float(np.sqrt(squares / steps)) if rewarded else None,
        reward_std=spread.deviation if rewarded else None,
        negative_mass=negative / steps,
        resets=resets,
        steps=steps,
        calibration=bins,
    )


class Spread:
    """The standard deviation of numbers that are added in chunks."""

    def __init__(self) -> None:
        self._count, self._mean, self._squares = 0, 0.0, 0.0

    def add(self, numbers: Floats) -> None:
        """Add numbers."""
        if not len(numbers):
            return
        count, mean = self._count + len(numbers), float(numbers.mean())
        apart = (mean - self._mean) ** 2 * self._count * len(numbers) / count
        self._squares += float(((numbers - mean) ** 2).sum()) + apart
        self._mean += (mean - self._mean) * len(numbers) / count
        self._count = count

    @property
    def deviation(self) -> float:
        """The standard deviation of all numbers so far, 0 if there are none."""
        return float(np.sqrt(self._squares / max(self._count, 1)))


def _binned(predicted: Filtered, log: Trajectories) -> Floats:
    """Sums, over all predictions in a bin, of the prediction, the outcome (0 or 1), and 1."""
    came = np.zeros_like(predicted.predictions)
    came[np.arange(log.steps), log.observations] = 1.0
    which = np.minimum((predicted.predictions * BINS).astype(np.int64), BINS - 1).reshape(-1)
    sums = np.zeros((BINS, 3))
    for i, column in enumerate((predicted.predictions, came, np.ones_like(came))):
        sums[:, i] = np.bincount(which, column.reshape(-1), minlength=BINS)
    return sums
