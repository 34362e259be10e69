"""The rank that a log supports.

First a cut: singular values below the noise are ignored. With variances V of the scaled cells, a
matrix of noise has a norm of about sqrt(largest row sum of V) + sqrt(largest column sum of V) if
cells are independent. Cells of overlapping histories are not, and a few values too many may pass.

Then a trial on held-out episodes, of all ranks up to `BEYOND` above the cut. The score per step is

    log P(o | h, a) - (r - expected r)^2 / (2 v),      v = max(least mean squared error, 0.1 var r).

The bound on v keeps exactly known rewards from dominating. The smallest rank within one standard
error of the best is chosen. A rank above the cut is chosen only if all ranks within the cut are
worse by more than that: the cut is too strict for short logs. `rank_words` gives the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from rpsr.io.records import Floats
from rpsr.learning.estimated_models import filtered, log_chances
from rpsr.learning.moments.hankel import Hankel
from rpsr.learning.spectral.fit import Scales
from rpsr.logs.parts import beginning
from rpsr.logs.trajectories import Trajectories
from rpsr.models import LinearModel

LARGEST_RANK = 40
BEYOND = 2  # ranks tried beyond the cut
TRIAL_STEPS = 100_000  # held-out steps that decide
PRECISE = 0.1  # of the rewards' variance: the least v


def noise_level(data: Hankel, scale: Scales) -> float:
    """The norm of the scaled matrix if it were noise alone."""
    rows = scale.rows > 0
    variances = data.variances[0][rows] * (scale.rows[rows, None] * scale.columns) ** 2
    return float(np.sqrt(variances.sum(axis=1).max()) + np.sqrt(variances.sum(axis=0).max()))


def rank_cut(singular_values: Floats, noise: float) -> int:
    """How many singular values exceed the noise, at least one."""
    return max(1, int((singular_values > noise).sum()))


@dataclass(frozen=True)
class Trial:
    """The accuracy of the model of one rank on held-out episodes.

    score: the mean over steps. loglik: the mean log-likelihood of an observation. reward_rmse: the
    root mean squared error of expected rewards. behind: the best score of all ranks minus this one.
    stderr: the standard error of `behind`.
    """

    rank: int
    score: float
    loglik: float
    reward_rmse: float
    behind: float
    stderr: float


def choose_rank(
    fit: Callable[[int], LinearModel], held_out: Iterable[Trajectories], most: int
) -> tuple[int, tuple[Trial, ...]]:
    """The chosen rank, from 1 to `most`, and the trials of all ranks.

    most: `BEYOND` above the cut, which is chosen if there are no held-out steps.
    """
    log = beginning(held_out, TRIAL_STEPS)
    if not log.steps:
        return max(1, most - BEYOND), ()
    rewards = np.zeros(log.steps) if log.rewards is None else log.rewards
    chances: list[Floats] = []
    errors: list[Floats] = []
    for rank in range(1, most + 1):
        predicted = filtered(fit(rank), log)
        chances.append(log_chances(predicted, log))
        errors.append(
            (np.zeros(log.steps) if log.rewards is None else log.rewards - predicted.rewards) ** 2
        )
    least = PRECISE * float(rewards.var()) or 1.0
    best_error = max(min(float(error.mean()) for error in errors), least)
    scores = [c - error / (2 * best_error) for c, error in zip(chances, errors, strict=True)]
    means = np.array([score.mean() for score in scores])
    best = int(means.argmax())
    trials = tuple(
        Trial(
            k + 1,
            float(means[k]),
            float(c.mean()),
            float(np.sqrt(error.mean())),
            behind=float(means[best] - means[k]),
            stderr=_error(scores[best] - scores[k], log),
        )
        for k, (c, error) in enumerate(zip(chances, errors, strict=True))
    )
    return next(trial.rank for trial in trials if trial.behind <= trial.stderr), trials


def rank_words(rank: int, standing: int, trials: tuple[Trial, ...], source: str = "") -> str:
    """The reason for a rank, in a sentence.

    standing: how many singular values exceed the noise. source: where the rank comes from if not
    from trials.
    """
    exceed = "singular value exceeds" if standing == 1 else "singular values exceed"
    words = f"{standing} {exceed} the noise"
    if rank == 1:
        words = f"a model of rank 1 has no memory; {words}"
    if not trials:
        return f"{source}; {words}"
    best = min(trials, key=lambda trial: trial.behind)
    # Within the cut, compare the chosen rank with the best; beyond it, the best within the cut.
    other = (
        trials[rank - 1]
        if rank <= standing
        else min(trials[:standing], key=lambda trial: trial.behind)
    )
    if other is best:
        return f"{words}; rank {best.rank} predicts held-out episodes best"
    by = f"by {other.behind:.2g} ± {other.stderr:.2g} per step"
    if rank <= standing:
        within = f"but only {by}, within the standard error"
        return f"{words}; rank {best.rank} predicts held-out episodes better, {within}"
    also = "" if rank == best.rank else f", and {rank} within a standard error of {best.rank}"
    return (
        f"{words}; rank {best.rank} predicts held-out episodes better than {other.rank} {by}{also}"
    )


def _error(difference: Floats, log: Trajectories) -> float:
    """The standard error of a mean over steps, by episodes, or by blocks of a long one."""
    blocks = log.offsets[:-1][log.lengths > 0]
    if len(blocks) < 20:
        blocks = np.linspace(0, log.steps, min(50, log.steps) + 1, dtype=np.int64)[:-1]
    sums = np.add.reduceat(difference - difference.mean(), blocks)
    return float(np.sqrt((sums**2).sum()) / log.steps)
