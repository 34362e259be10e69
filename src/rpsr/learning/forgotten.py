"""Observations of earlier steps on which rewards depend, and which a model forgets.

If a model is right, its reward residuals (reward minus expected reward, filtered) have mean 0 given
anything that came before. So for each lag j, the mean residual is tested in each cell of the action
that is taken and the observation j steps ago (1: the last one). Whole histories hardly repeat; such
pairs do, even for a long lag and a short log.

Residuals are centred in each cell of action and last observation first, because a model may just
have a wrong reward there. With n residuals d_i of a cell, and v the mean square of residuals of its
action,

    z = |sum d_i| / sqrt(max(sum d_i^2, n v))

The first term guards against rare large rewards that came, the second against those that did not.
A cell counts if z exceeds chance (level `CHANCE`, divided by the number of cells of all lags), and
the mean residual `MATTERS` standard deviations of the rewards. Observations whose mean residuals
differ by less than that, at the lags of such cells, are of one kind.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from rpsr.io.records import Floats, Ints
from rpsr.logs.trajectories import Trajectories

LONGEST = 10  # steps
CHANCE, MATTERS, FEWEST = 1e-3, 0.1, 30  # level, standard deviations of rewards, steps in a cell


@dataclass(frozen=True, eq=False)
class Forgotten:
    """The longest lag of which a model forgets something.

    lag: rewards of an action, a number, depend on the observation this many steps ago. kind_of
    (O,): equal for observations that need not be told apart, since rewards are the same after them.
    """

    lag: int
    action: int
    kind_of: Ints

    @property
    def kinds(self) -> int:
        """How many kinds of observations there are."""
        return int(self.kind_of.max()) + 1


def forgotten(log: Trajectories, expected: Floats) -> Forgotten | None:
    """On what rewards depend beyond the expected ones (L,) of a model; None if nothing is found."""
    rewards = log.rewards_for("learning")
    n_actions, n_observations = shape = len(log.action_names), len(log.observation_names)
    n_cells = n_actions * n_observations
    position = np.arange(log.steps) - np.repeat(log.offsets[:-1], log.lengths)
    means = np.zeros((LONGEST + 1, *shape))
    errors = np.full_like(means, np.inf)
    for lag in range(2, LONGEST + 1):
        steps = np.flatnonzero(position >= lag)
        actions = log.actions[steps]
        residuals = (rewards - expected)[steps]
        last = actions * n_observations + log.observations[steps - 1]
        residuals -= _means(last, residuals, n_cells)[last]
        cells = actions * n_observations + log.observations[steps - lag]
        count = np.bincount(cells, minlength=n_cells)
        squares = np.bincount(cells, residuals**2, minlength=n_cells)
        of_action = np.repeat(_means(actions, residuals**2, n_actions), n_observations)
        error = np.sqrt(np.maximum(squares, count * of_action)) / np.maximum(count, 1)
        enough = (count >= FEWEST) & (error > 0)
        means[lag] = _means(cells, residuals, n_cells).reshape(shape)
        errors[lag] = np.where(enough, error, np.inf).reshape(shape)
    matters = MATTERS * float(rewards.std())
    tests = max(1, int(np.isfinite(errors).sum()))
    z = np.abs(means) / errors
    large = (z > norm.isf(CHANCE / 2 / tests)) & (np.abs(means) > matters)
    if not large.any():
        return None
    lags = large.any(axis=(1, 2))
    lag = int(np.flatnonzero(lags).max())
    worst = np.where(large[lag], z[lag], 0.0)
    action, observation = divmod(int(worst.argmax()), n_observations)
    return Forgotten(lag, action, _kinds(means[lags], errors[lags], matters, observation))


def _kinds(means: Floats, errors: Floats, matters: float, different: int) -> Ints:
    """The kind of each observation, from mean residuals (lags, A, O) and their standard errors.

    Kinds are named by the observations whose means are known best. different: an observation that
    is not of the same kind as all others.
    """
    kind_of = np.zeros(means.shape[2], dtype=np.int64)
    typical: list[int] = []
    for o in np.argsort(errors.max(axis=(0, 1)), kind="stable").tolist():
        for kind, other in enumerate(typical):
            apart = np.abs(means[..., o] - means[..., other])
            error = np.hypot(errors[..., o], errors[..., other])
            if not np.any((apart > matters) & (apart > norm.isf(CHANCE / 2) * error)):
                kind_of[o] = kind
                break
        else:
            kind_of[o] = len(typical)
            typical.append(o)
    if len(typical) == 1:
        kind_of[different] = 1
    return kind_of


def _means(cells: Ints, values: Floats, n_cells: int) -> Floats:
    """The mean of the values in each of n cells, 0 in an empty one."""
    count = np.bincount(cells, minlength=n_cells)
    return np.bincount(cells, values, minlength=n_cells) / np.maximum(count, 1)


def sequences(kinds: Ints, length: int) -> Ints:
    """A number for the sequence of the last `length` kinds (L,) at every step.

    Of no use at the first length - 1 steps of an episode, where it is of an earlier one, too.
    """
    number = kinds
    for ago in range(1, length):
        earlier = np.concatenate([kinds[:ago], kinds[:-ago]])
        number = np.unique(number * (kinds.max() + 1) + earlier, return_inverse=True)[1]
        number = number.reshape(-1)
    return number
