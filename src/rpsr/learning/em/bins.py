"""Continuous rewards in few bins: a log on which to look for states before rewards have densities.

There are then as many likelihoods of rewards as bins, and not as rewards, so the search is faster,
and a few rewards far out decide less. Densities are fitted to the states that were found.

Each action's rewards are parted where squares around the parts' means are least, but for a grid of
some 256 points. Into how many parts, the likelihood says of Gaussians of one width, each reward
belonging to one of them, less what their parameters cost (BIC). Where that is a single one, rewards
of different states overlap or are the same, and quarters tell them apart if anything does.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.learning.em.steps import Encoded, FittedPOMDP

MOST = 8  # bins of an action
EXACT = 1e-12  # of the variance: rewards that are closer are the same
POINTS = 129  # rewards are first put on a grid: so many of equal width, so many of equal count
QUARTERS = slice(POINTS // 4 - 1, -1, POINTS // 4)  # of the quantiles of the grid


def binned(log: Encoded) -> tuple[Encoded, Ints]:
    """The log with continuous rewards in bins, and to which new payoff each payoff went, (J,)."""
    if log.family != "gaussian":
        return log, np.arange(len(log.payoff_actions))
    times = np.bincount(log.steps[:, 2], minlength=len(log.payoff_actions)).astype(np.float64)
    went = np.empty(len(log.payoff_actions), dtype=np.int64)
    number = 0
    for action in range(log.sizes[0]):
        mine = log.payoff_actions == action  # in the order of rewards
        if mine.any():
            went[mine] = number + parts(log.payoff_rewards[mine], times[mine])
            number = int(went[mine].max()) + 1
    means = np.bincount(went, times * log.payoff_rewards) / np.bincount(went, times)
    centres = _centres(log.payoff_rewards, times)
    steps = log.steps.copy()
    steps[:, 2] = went[steps[:, 2]]
    new = replace(
        log,
        steps=steps,
        payoff_actions=log.payoff_actions[np.unique(went, return_index=True)[1]],
        payoff_rewards=centres[abs(means[:, None] - centres).argmin(axis=1)],
        family="categorical",
    )
    return new, went


def _centres(rewards: Floats, times: Floats) -> Floats:
    """The means of bins of all rewards (J,), whatever the action: what actions earn alike."""
    order = np.argsort(rewards, kind="stable")
    rewards, times = rewards[order], times[order]
    label = parts(rewards, times)
    return np.bincount(label, times * rewards) / np.bincount(label, times)


def unbinned(parameters: FittedPOMDP, went: Ints) -> FittedPOMDP:
    """What was fitted to bins, with the likelihood of each reward that of its bin."""
    payoffs = np.ascontiguousarray(parameters.payoffs[went])
    return replace(parameters, payoffs=payoffs, log_scale=np.zeros(len(went)))


def parts(values: Floats, weights: Floats) -> Ints:
    """The bin, from 0, of each of the ascending values (m,), seen `weights` (m,) times each."""
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
    """The best parting of points on a line into 1, 2, ... parts: its squares, where parts begin.

    weight, first, second (m,): sums of 1, x and x^2 at every point, which parts do not divide.
    """
    sums = np.concatenate([np.zeros((3, 1)), np.cumsum([weight, first, second], axis=1)], axis=1)
    within = sums[:, None, :] - sums[:, :, None]  # (3, m + 1, m + 1): from one point up to another
    some = np.triu(np.ones(within.shape[1:], dtype=bool), 1)  # a part has a point or more
    squares = np.full(some.shape, np.inf)
    squares[some] = within[2][some] - within[1][some] ** 2 / within[0][some]
    best, begins = squares[0], [np.zeros(len(weight) + 1, dtype=np.int64)]
    found: list[tuple[float, Ints]] = []
    for _ in range(min(MOST, len(weight))):
        cut = [len(weight)]
        for begin in reversed(begins):
            cut.insert(0, int(begin[cut[0]]))
        found.append((max(float(best[-1]), 0.0), np.array(cut[:-1])))
        step = best[:, None] + squares
        begins.append(step.argmin(axis=0))
        best = step.min(axis=0)
    return found
