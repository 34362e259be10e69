"""Continuous rewards in few bins, for the search for states; Gaussian densities are fitted later.

With bins the search is faster, because there is one likelihood per bin, and outliers matter less.

The n rewards of an action are split into k = 1, ..., `MOST` intervals with the least sum Q_k of
squares around the means of the intervals, up to a grid of about 256 points. With n_j rewards in
interval j, k maximises the BIC of Gaussians with one common variance, each reward being assigned to
one of them:

    sum_j n_j log(n_j / n) - (n / 2) log(Q_k / n) - k log n.

If k = 1, the rewards of states overlap or are equal, and the bins are the quartiles.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.learning.em.fitted_pomdp import Encoded, FittedPOMDP

MOST = 8  # bins of an action
EXACT = 1e-12  # of the variance: the least Q_k / n
POINTS = 129  # of the grid, which has this many points of equal width and as many of equal count
QUARTERS = slice(POINTS // 4 - 1, -1, POINTS // 4)  # of the quantiles of the grid


def binned(log: Encoded) -> tuple[Encoded, Ints]:
    """The log with continuous rewards in bins, and the new number of each payoff, (J,)."""
    if log.family != "gaussian":
        return log, np.arange(len(log.payoff_actions))
    times = np.bincount(log.steps[:, 2], minlength=len(log.payoff_actions)).astype(np.float64)
    payoff_of = np.empty(len(log.payoff_actions), dtype=np.int64)
    number = 0
    for action in range(log.sizes[0]):
        mine = log.payoff_actions == action  # in the order of rewards
        if mine.any():
            payoff_of[mine] = number + parts(log.payoff_rewards[mine], times[mine])
            number = int(payoff_of[mine].max()) + 1
    means = np.bincount(payoff_of, times * log.payoff_rewards) / np.bincount(payoff_of, times)
    centres = _centres(log.payoff_rewards, times)
    steps = log.steps.copy()
    steps[:, 2] = payoff_of[steps[:, 2]]
    new = replace(
        log,
        steps=steps,
        payoff_actions=log.payoff_actions[np.unique(payoff_of, return_index=True)[1]],
        payoff_rewards=centres[abs(means[:, None] - centres).argmin(axis=1)],
        family="categorical",
    )
    return new, payoff_of


def _centres(rewards: Floats, times: Floats) -> Floats:
    """The means of bins of the rewards (J,) of all actions together."""
    order = np.argsort(rewards, kind="stable")
    rewards, times = rewards[order], times[order]
    label = parts(rewards, times)
    return np.bincount(label, times * rewards) / np.bincount(label, times)


def unbinned(parameters: FittedPOMDP, payoff_of: Ints) -> FittedPOMDP:
    """A POMDP fitted to bins, with the likelihood of each reward equal to that of its bin."""
    payoffs = np.ascontiguousarray(parameters.payoffs[payoff_of])
    return replace(parameters, payoffs=payoffs, log_scale=np.zeros(len(payoff_of)))


@dataclass(frozen=True, eq=False)
class Bins:
    """The bins of each action, for rewards that may not be in the log of the search.

    firsts: for each action, the smallest reward of each of its bins, ascending. numbers (A,): the
    payoff, in the binned log, of its first bin.
    """

    firsts: tuple[Floats, ...]
    numbers: Ints

    @staticmethod
    def of(log: Encoded, payoff_of: Ints) -> Bins:
        """The bins of a log, whose payoffs became those in `payoff_of` (J,)."""
        firsts, numbers = list[Floats](), list[int]()
        for action in range(log.sizes[0]):
            mine = np.flatnonzero(log.payoff_actions == action)  # in the order of rewards
            numbers_used, places = np.unique(payoff_of[mine], return_index=True)
            firsts.append(log.payoff_rewards[mine][places])
            numbers.append(int(min(numbers_used, default=0)))
        return Bins(tuple(firsts), np.array(numbers, dtype=np.int64))

    def unbinned(self, parameters: FittedPOMDP, log: Encoded) -> FittedPOMDP:
        """A POMDP fitted to bins, with the likelihoods of the rewards of a log.

        An action that the log of the search does not have tells nothing.
        """
        payoffs = np.ones((len(log.payoff_rewards), parameters.states))
        for action, firsts in enumerate(self.firsts):
            mine = log.payoff_actions == action
            if len(firsts):
                rewards = log.payoff_rewards[mine]
                place = np.maximum(np.searchsorted(firsts, rewards, side="right") - 1, 0)
                payoffs[mine] = parameters.payoffs[self.numbers[action] + place]
        return replace(parameters, payoffs=payoffs, log_scale=np.zeros(len(payoffs)))


def parts(values: Floats, weights: Floats) -> Ints:
    """The bin, from 0, of each of the ascending values (m,) with counts `weights` (m,)."""
    n = float(weights.sum())
    values = values - np.average(values, weights=weights)
    spread = float(np.sqrt(np.average(values**2, weights=weights)))
    if spread == 0:
        return np.zeros(len(values), dtype=np.int64)
    values = values / spread
    quantiles = values[np.searchsorted(np.cumsum(weights), n * np.linspace(0, 1, POINTS)[1:-1])]
    edges = np.union1d(np.linspace(values[0], values[-1], POINTS), quantiles)
    cells = _numbered(np.searchsorted(edges, values, side="right"))
    weight, first, second = (
        np.bincount(cells, weights * values**power).astype(np.float64) for power in range(3)
    )
    scores: list[float] = []
    cuts = least_squares_cuts(weight, first, second)
    for squares, cut in cuts:
        sizes = np.add.reduceat(weight, cut)
        fit = (sizes * np.log(sizes / n)).sum() - n / 2 * np.log(max(squares / n, EXACT))
        scores.append(float(fit) - len(cut) * np.log(n))
    best = cuts[int(np.argmax(scores))][1]
    if len(best) == 1:
        return _numbered(np.searchsorted(quantiles[QUARTERS], values))
    return np.searchsorted(best, cells, side="right") - 1


def _numbered(labels: Ints) -> Ints:
    """The same labels without gaps, in the same order."""
    return np.unique(labels, return_inverse=True)[1].reshape(-1)


def least_squares_cuts(weight: Floats, first: Floats, second: Floats) -> list[tuple[float, Ints]]:
    """The best splits of points on a line into 1, 2, ... intervals: Q_k, and where intervals begin.

    weight, first, second (m,): sums of 1, x and x^2 at every point.
    """
    sums = np.concatenate([np.zeros((3, 1)), np.cumsum([weight, first, second], axis=1)], axis=1)
    within = sums[:, None, :] - sums[:, :, None]  # (3, m + 1, m + 1): from one point up to another
    some = np.triu(np.ones(within.shape[1:], dtype=bool), 1)  # an interval has at least one point
    squares = np.full(some.shape, np.inf)
    squares[some] = within[2][some] - within[1][some] ** 2 / within[0][some]
    best, begins = squares[0], [np.zeros(len(weight) + 1, dtype=np.int64)]
    cuts: list[tuple[float, Ints]] = []
    for _ in range(min(MOST, len(weight))):
        cut = [len(weight)]
        for begin in reversed(begins):
            cut.insert(0, int(begin[cut[0]]))
        cuts.append((max(float(best[-1]), 0.0), np.array(cut[:-1])))
        step = best[:, None] + squares
        begins.append(step.argmin(axis=0))
        best = step.min(axis=0)
    return cuts
