"""Promises by models of the log: a policy is simulated in models that disagree where data lack.

Searches find models that explain the log: one search in all episodes, and one in each half of them
(in four fifths of them, if a half is too short). Every model has refits to resampled logs of its
own. For model j, v_j is the value of the policy in the fitted model and v_jb its value in refit b;
m_j is the mean of the v_jb, less optimistic than v_j, because the policy was not planned on the
refits. Models of one search share its data, so that the searches count, not the models. With G
searches, c_g the mean of the m_j of search g, and N refits in all, each to another resampled log,

    value = mean of c_g
    s^2   = mean of (v_jb - v_j)^2                         the error of parameters, by the bootstrap
    u^2   = sum of (c_g - value)^2 / (G - 1)               the error of structure: between searches,
            + mean over g of the mean of (m_j - c_g)^2     and within them
    low   = value - sqrt((t_N s)^2 + (t_(G-1) u)^2 (1 + 1 / G) + (z e)^2),

where t_k is the quantile of Student's distribution with k degrees of freedom at the level, and e
the standard error of the simulation; low is at most the least v_j, and high is symmetric. u^2 is
the variance of one model of another search: the variance between means of searches with k models
has only 1 / k of the variance within them, and the second term the rest. With one search, u = 0.
The bounds hold if the truth is among models like these. Models that all have the same blind spot
agree wrongly, so that `log_support` is asked first.

Simulations end with the task, or after T steps; `after_the_cut` says what stands for the rest. It
is a guess, so the bounds allow for a rest from none to twice as much, in the model with the
largest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student

from rpsr.evaluation.simulation import AnyPolicy, simulate
from rpsr.io.records import Floats
from rpsr.learning.promises.after_the_cut import returns_of
from rpsr.learning.promises.promise import Promise, ReturnRange
from rpsr.logs.trajectories import Trajectories
from rpsr.models.linear import LinearModel

EPISODES = 200  # simulated per model
NEGLIGIBLE, MOST_STEPS = 1e-3, 300  # the power of the discount that ends a simulation, its steps


def value_in(
    model: LinearModel, policy: AnyPolicy, discount: float, episodes: int = EPISODES, seed: int = 0
) -> tuple[float, float]:
    """The value of a policy in a model, by simulation, and its standard error."""
    valued = _valued(play(model, policy, discount, episodes, seed), discount)
    return valued.value, valued.error


def play(
    model: LinearModel, policy: AnyPolicy, discount: float, episodes: int = EPISODES, seed: int = 0
) -> Trajectories:
    """Simulated episodes, until the task ends or later rewards hardly count."""
    steps = 1 if discount == 0 else math.ceil(math.log(NEGLIGIBLE) / math.log(discount))
    steps = min(max(steps, 2), MOST_STEPS)
    return simulate(model, policy, episodes=episodes, steps=steps, seed=seed, rewards=True)


def models_promise(
    runs: Sequence[Sequence[Sequence[Trajectories]]], allowed: ReturnRange, level: float
) -> Promise:
    """The return of a policy by families of models, of at least one refit each.

    runs: simulated episodes of the policy in each model of each family of each search, the search
    in the whole log first.
    """
    valued = [
        [[_valued(run, allowed.discount) for run in family] for family in search] for search in runs
    ]
    every = [one for search in valued for family in search for one in family]
    values = [[np.array([one.value for one in family]) for family in search] for search in valued]
    value, room = interval(values, max(one.error for one in every), level)
    rest = max(one.rest for one in every)
    by_search = [[float(family[0]) for family in search] for search in values]
    fitted = [fit for fits in by_search for fit in fits]
    return Promise(
        value=allowed.within(value),
        low=allowed.within(min(value - room, *fitted) - rest),
        high=allowed.within(max(value + room, *fitted) + rest),
        level=level,
        method="models",
        least=allowed.least,
        most=allowed.most,
        models=len(every),
        in_models=(min(one.value for one in every), max(one.value for one in every)),
        in_fits=(min(by_search[0]), max(by_search[0])),
    )


def interval(values: Sequence[Sequence[Floats]], error: float, level: float) -> tuple[float, float]:
    """The middle and the half width of an interval, from values (1 + B,) of families, by search.

    error: the standard error of the simulations.
    """
    means = [np.array([family[1:].mean() for family in search]) for search in values]
    centres = np.array([of_search.mean() for of_search in means])
    moved = np.concatenate([family[1:] - family[0] for search in values for family in search])
    parameters = float(student.ppf(level, len(moved)) * np.sqrt((moved**2).mean()))
    structure, n = 0.0, len(centres)
    if n > 1:
        within = float(np.mean([of_search.var() for of_search in means]))
        apart = math.sqrt(float(centres.var(ddof=1)) + within)
        structure = float(student.ppf(level, n - 1)) * apart * math.sqrt(1 + 1 / n)
    simulated = float(norm.ppf(level)) * error
    return float(centres.mean()), math.hypot(parameters, structure, simulated)


class _Valued(NamedTuple):
    """The value of a policy in a model, its standard error, and the size of the guessed rest."""

    value: float
    error: float
    rest: float


def _valued(log: Trajectories, discount: float) -> _Valued:
    values, rest = returns_of(log, discount)
    error = float(values.std() / math.sqrt(log.episodes))
    return _Valued(float(values.mean()), error, abs(float(rest.mean())))
