"""Learned models: construction from estimated parameters, and filtering along a log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rpsr.io.records import Floats
from rpsr.learning.filter_kernels import filter_log
from rpsr.learning.spectral.fit import Parameters
from rpsr.logs import Trajectories
from rpsr.models import DenseOperators, LinearModel, Unknown
from rpsr.models.filter import MOST_MASS, RobustRule

DOUBT = 1e-3  # the share of a uniform prediction mixed in before taking a logarithm


# The arguments are the parameters of a linear model and their origin.
def learned_model(
    parameters: Parameters,
    actions: tuple[str, ...],
    observations: tuple[str, ...],
    *,
    kind: str,
    name: str = "log",
    discount: float | None = None,
    estimator: str | None = None,
    final: tuple[str, ...] = (),
    provenance: dict[str, Any] | None = None,
) -> LinearModel:
    """A linear model with an unknown domain, and sum_o M[a, o] e = e for every action.

    Each M[a, o] is multiplied from the left by the closest matrix to the identity for which this
    holds. estimator: the name of the estimator. final: observations at ends of tasks. They lead to
    one more state, the last one, which emits them at every step and has reward 0.
    """
    e = parameters.normalizer
    operators = np.array(parameters.operators)
    for a in range(len(operators)):
        reached = operators[a].sum(axis=0) @ e
        size = float(reached @ reached)
        if size > 0:
            repair = np.eye(len(e)) + np.outer(e - reached, reached) / size
            operators[a] = repair @ operators[a]
    start = parameters.start
    mass = float(start @ e)
    start, rewards = start / mass if abs(mass) > 1e-9 else start, parameters.rewards
    if final:
        shows = np.isin(observations, final)
        wide = np.zeros((*operators.shape[:2], len(e) + 1, len(e) + 1))
        wide[..., :-1, :-1] = np.where(shows[:, None, None], 0.0, operators)
        wide[..., :-1, -1] = np.where(shows[:, None], operators @ e, 0.0)
        wide[..., -1, -1] = shows / len(final)
        operators, e, start = wide, np.append(e, 1.0), np.append(start, 0.0)
        rewards = np.vstack([rewards, np.zeros(rewards.shape[1])])
    return LinearModel(
        kind=kind,
        name=name,
        actions=actions,
        observations=observations,
        start=start,
        operators=DenseOperators(operators),
        normalizer=e,
        rewards=rewards,
        discount=discount,
        domain=Unknown(),
        estimator=estimator,
        final=final,
        provenance=provenance or {},
    )


@dataclass(frozen=True, eq=False)
class Filtered:
    """A model's predictions at every step of a log, from actions and observations only.

    predictions (L, O): for the action taken; rewards (L,): expected; states (L, n): before the
    step. negative: the total negative probability mass; resets: how often the filter restarted.
    """

    predictions: Floats
    rewards: Floats
    states: Floats
    negative: float
    resets: int


def filtered(model: LinearModel, log: Trajectories, states: bool = False) -> Filtered:
    """Run a model's `RobustFilter` along every episode of a log with the same names."""
    log.check_names(model.actions, model.observations, "the model's are")
    n_actions, n_observations, n = model.operators.shape
    matrices = np.empty((n_actions, n_observations, n, n))
    for a in range(n_actions):
        for o in range(n_observations):
            matrices[a, o] = model.operators.matrix(a, o)
    rule = RobustRule(model)
    parameters = (matrices, model.emissions, model.normalizer, rule.origin, model.rewards)
    kept = np.empty((log.steps if states else 0, n))
    columns = (log.actions, log.observations, log.offsets)
    result = filter_log(parameters, *columns, rule.limits, MOST_MASS, kept)
    return Filtered(result[0], result[1], kept, result[2], result[3])


def log_chances(predicted: Filtered, log: Trajectories) -> Floats:
    """The log-probability of each observation, (L,), kept finite by `DOUBT`."""
    seen = predicted.predictions[np.arange(log.steps), log.observations]
    return np.log((1 - DOUBT) * seen + DOUBT / len(log.observation_names))
