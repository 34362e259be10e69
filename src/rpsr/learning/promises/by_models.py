"""Promises by models of the log: a policy is simulated in models that disagree where data lack.

Families of models explain the log: fits to all episodes and to four fifths of them, each found by
its own search. Every family has models refitted to resampled logs. For family j, v_j is the value
of the policy in the fitted model and v_jb its value in refit b; m_j is the mean of the v_jb, less
optimistic than v_j, because the policy was not planned on the refits. With J families of B refits,

    value = mean of m_j
    s^2   = mean of (v_jb - v_j)^2          the error of parameters, by the bootstrap
    u^2   = variance of m_j                 the error of structure
    low   = value - sqrt((t_JB s)^2 + (t_(J-1) u)^2 (1 + 1 / J) + (z e)^2),

where t_k is the quantile of Student's distribution with k degrees of freedom at the level, and e
the standard error of the simulation; low is at most the least v_j, and high is symmetric. The
bounds hold if the truth is among models like these. Models that all have the same blind spot agree
wrongly, so that `support` is asked first.

Simulations end with the task, or after T steps; `unrecorded` says what stands for the rest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student

from rpsr.evaluation.simulation import AnyPolicy, simulate
from rpsr.io.records import Floats
from rpsr.learning.base import Family
from rpsr.learning.promises.record import Allowed, Promise
from rpsr.learning.promises.unrecorded import returns_of
from rpsr.logs.trajectories import Trajectories
from rpsr.models.linear import LinearModel

EPISODES = 200  # simulated per model
NEGLIGIBLE, MOST_STEPS = 0.02, 300  # the power of the discount that ends a simulation, its steps


def value_in(
    model: LinearModel, policy: AnyPolicy, discount: float, episodes: int = EPISODES, seed: int = 0
) -> tuple[float, float]:
    """The value of a policy in a model, by simulation, and its standard error."""
    values = returns_of(play(model, policy, discount, episodes, seed), discount)
    return float(values.mean()), float(values.std() / math.sqrt(episodes))


def play(
    model: LinearModel, policy: AnyPolicy, discount: float, episodes: int = EPISODES, seed: int = 0
) -> Trajectories:
    """Simulated episodes, until the task ends or later rewards hardly count."""
    steps = 1 if discount == 0 else math.ceil(math.log(NEGLIGIBLE) / math.log(discount))
    steps = min(max(steps, 2), MOST_STEPS)
    return simulate(model, policy, episodes=episodes, steps=steps, seed=seed, rewards=True)


def models_promise(
    policy: AnyPolicy, families: Sequence[Family], allowed: Allowed, level: float, seed: int = 0
) -> Promise:
    """The return of a policy by families of models, of at least one refit each."""
    found = [_values(policy, family, allowed, seed) for family in families]
    value, room = interval([values for values, _ in found], max(e for _, e in found), level)
    fitted = [float(values[0]) for values, _ in found]
    return Promise(
        value=allowed.within(value),
        low=allowed.within(min(value - room, *fitted)),
        high=allowed.within(max(value + room, *fitted)),
        level=level,
        method="models",
        least=allowed.least,
        most=allowed.most,
        models=sum(map(len, families)),
        in_models=(
            float(min(values.min() for values, _ in found)),
            float(max(values.max() for values, _ in found)),
        ),
    )


def interval(values: Sequence[Floats], error: float, level: float) -> tuple[float, float]:
    """The middle and the half width of an interval, from values (1 + B,) of each family.

    error: the standard error of the simulations.
    """
    centres = np.array([family[1:].mean() for family in values])
    moved = np.concatenate([family[1:] - family[0] for family in values])
    parameters = float(student.ppf(level, len(moved)) * np.sqrt((moved**2).mean()))
    structure, n = 0.0, len(centres)
    if n > 1:
        structure = float(student.ppf(level, n - 1) * centres.std(ddof=1) * math.sqrt(1 + 1 / n))
    simulated = float(norm.ppf(level)) * error
    return float(centres.mean()), math.hypot(parameters, structure, simulated)


def _values(policy: AnyPolicy, family: Family, allowed: Allowed, seed: int) -> tuple[Floats, float]:
    """The values of a policy in a family, with common random numbers, and the largest error."""
    found = [value_in(model, policy, allowed.discount, seed=seed) for model in family]
    return np.array([value for value, _ in found]), max(error for _, error in found)
