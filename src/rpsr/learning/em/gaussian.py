"""Gaussian rewards: a mean m for every action and state, one variance v per action, above a floor.

Three sums over steps are enough to fit them: of the expected counts c, of c (r - centre), and of
c (r - centre)^2, where centre is the mean of all rewards. So a log in partitions adds up these,
and no table of all its rewards is necessary. The log prior of a mean is -prior (m - mean of the
action)^2 / 2v, like `prior` rewards at the action's mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rpsr.io.records import Floats

if TYPE_CHECKING:
    from rpsr.learning.em.fitted_pomdp import Encoded

VARIANCE_FLOOR = 1e-4  # of the variance of all rewards
TINY_SCALE = 1e-12


def reward_sums(log: Encoded, counts: Floats) -> Floats:
    """The sums (3, A, S) of a log, from its expected counts of payoffs (J, S)."""
    sums = np.zeros((3, log.sizes[0], counts.shape[1]))
    away = log.payoff_rewards - log.centre
    for action in range(log.sizes[0]):
        mine = log.payoff_actions == action
        powers = np.stack([np.ones(int(mine.sum())), away[mine], away[mine] ** 2])
        sums[:, action] = powers @ counts[mine]
    return sums


def gaussians(log: Encoded, counts: Floats, prior: float) -> tuple[Floats, Floats]:
    """The means (A, S) and variances (A,) of rewards.

    counts: of payoffs, (J, S), or their sums, (3, A, S).
    """
    visits, first, second = counts if counts.ndim == 3 else reward_sums(log, counts)
    total = np.maximum(visits.sum(axis=1), TINY_SCALE)  # (A,)
    typical = (first.sum(axis=1) / total)[:, None]
    means = (first + prior * typical) / np.maximum(visits + prior, TINY_SCALE)
    squares = second - 2 * means * first + means**2 * visits
    variance = np.maximum(squares, 0.0).sum(axis=1) + prior * ((means - typical) ** 2).sum(axis=1)
    return means + log.centre, np.maximum(variance / total, VARIANCE_FLOOR * log.scale)


def densities(log: Encoded, means: Floats, variances: Floats) -> tuple[Floats, Floats]:
    """The density of each payoff in each state, (J, S), over exp of its logarithmic scale, (J,)."""
    variance = variances[log.payoff_actions, None]
    residuals = log.payoff_rewards[:, None] - means[log.payoff_actions]
    logs = -0.5 * residuals**2 / variance - 0.5 * np.log(2 * np.pi * variance)
    log_scale = logs.max(axis=1)
    return np.exp(logs - log_scale[:, None]), log_scale
