"""Promises by the log alone: importance weighting, and the returns of the behaviour policy.

While the actions of episode i agree with the policy, its weight is w_it = prod_(k <= t) 1 / pi_ik.
Rewards are moved to [0, b], b = r_max - r_min, so that every term of

    X_i = sum_(t < T) discount^t w_it (r_it - r_min),      0 <= X_i <= c_i

is at least 0. T is the last step at which `AGREEING` episodes agree. The mean of the X_i is an
unbiased estimate of the first T steps. Later rewards are only known to be in the log's range, so
they widen both ends by their least and largest discounted sum. The bounds of the mean are
empirical Bernstein bounds, with the largest weight that the propensities allow in place of c_i.

They hold if the propensities are right, the behaviour policy depends on the logged history alone,
and no reward leaves the log's range. Reference: A. Maurer, M. Pontil, "Empirical Bernstein bounds
and sample-variance penalization", COLT 2009; P. Thomas, G. Theocharous, M. Ghavamzadeh,
"High-confidence off-policy evaluation", AAAI 2015.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import t as student

from rpsr.io.records import Floats
from rpsr.learning.plan_choice.off_policy import Agreement
from rpsr.learning.promises.after_the_cut import returns_of
from rpsr.learning.promises.promise import Promise, ReturnRange
from rpsr.logs.trajectories import Trajectories

AGREEING = 20  # episodes that agree with the policy at the last step that is weighted


def importance_promise(agreement: Agreement, allowed: ReturnRange, level: float) -> Promise:
    """The return of a policy by the episodes that agree with it."""
    weights, rewards = agreement.weights, agreement.rewards
    steps = int(((weights > 0).sum(axis=0) >= AGREEING).sum())
    steps = min(steps, agreement.complete)  # beyond, a weight of 0 may be a cut, not an action
    factors = allowed.discount ** np.arange(steps)
    shifted = (rewards[:, :steps] - allowed.low) * (weights[:, :steps] > 0)
    sums = (weights[:, :steps] * shifted) @ factors
    later = allowed.discount**steps
    base = allowed.low * float(factors.sum())
    largest = float(factors @ agreement.largest_weights(steps)) * (allowed.high - allowed.low)
    mean, room = (float(sums.mean()), _bernstein(sums, largest, level)) if steps else (0.0, 0.0)
    middle = later * (allowed.least + allowed.most) / 2
    sure = mean - room
    low = allowed.within(base + sure + later * allowed.least) if sure > 0 else allowed.least
    return Promise(
        # without a lower bound, the estimate is about the middle of what rewards allow
        value=allowed.within(base + mean + middle) if low > allowed.least else None,
        low=low,
        high=allowed.within(base + mean + room + later * allowed.most),
        level=level,
        method="importance",
        least=allowed.least,
        most=allowed.most,
    )


def _bernstein(sums: Floats, largest: float, level: float) -> float:
    """How far the mean of N numbers in [0, largest] may be above their expectation."""
    n, log_term = len(sums), float(np.log(2 / (1 - level)))
    if n < 2:
        return largest
    spread = float(np.sqrt(2 * sums.var(ddof=1) * log_term / n))
    return spread + 7 * largest * log_term / (3 * (n - 1))


def returns_promise(log: Trajectories, allowed: ReturnRange, level: float) -> Promise:
    """The return of the behaviour policy, by a t-interval over the episodes of its log.

    For the rest of episodes that were cut off see `after_the_cut`. If n returns are all equal, an
    outcome of probability log(1 / (1 - level)) / n may still have been missed; it may have any
    return that rewards allow.
    """
    returns = returns_of(log, allowed.discount)[0][log.lengths > 0]
    n, mean = len(returns), float(returns.mean()) if len(returns) else allowed.least
    missed = min(1.0, float(np.log(1 / (1 - level))) / n) if n > 1 else 1.0
    room = missed * (allowed.most - allowed.least)
    if n > 1 and not np.allclose(returns, returns[0], rtol=1e-12, atol=0):
        room = float(student.ppf(level, n - 1) * returns.std(ddof=1) / np.sqrt(n))
    return Promise(
        value=allowed.within(mean),
        low=allowed.within(mean - room),
        high=allowed.within(mean + room),
        level=level,
        method="returns",
        least=allowed.least,
        most=allowed.most,
    )
