"""The conformance check of estimators (public in `rpsr.testing`)."""

from __future__ import annotations

from dataclasses import is_dataclass, replace
from typing import Any

import numpy as np

from rpsr.errors import InputError
from rpsr.learning.base import Estimator, NotFitted
from rpsr.learning.findings import Findings
from rpsr.logs.trajectories import Trajectories
from rpsr.models.linear import LinearModel
from rpsr.models.renaming import END

_EPISODES, _STEPS = 60, 10
_SEES = 0.8  # with this probability, an observation shows the state
_FLIPS = 0.3  # with this probability, the second action changes the state


def check_estimator(estimator: Estimator, *, seed: int = 0) -> None:
    """Verify the contract of estimators, on a small log of a system with two states.

    An estimator is a dataclass of keyword parameters, which `fit` does not change. A fitted
    attribute raises `NotFitted` before `fit`. `fit` returns the estimator and sets `model_`, a
    linear model over the log's names, `fitted_` and `caution_`. Both models name their estimator
    and the same final observations. `rank_` is the model's dimension,
    also in `findings`. Fitting again gives the same model. `judge` and `score` evaluate held-out
    episodes. `models` begins with `model_`. A log without rewards is an error.
    """
    _require(is_dataclass(estimator), "the estimator is not a dataclass of parameters")
    parameters = estimator.get_params()
    fresh = type(estimator)(**parameters)
    try:
        _ = fresh.model_
    except NotFitted:
        pass
    else:
        raise AssertionError("model_ exists before fit")
    log, unseen = _log(seed), _log(seed + 1)
    fitted: Any = fresh.fit(log)
    _require(fitted is fresh, "fit does not return the estimator")
    changed = [key for key, value in fresh.get_params().items() if value != parameters[key]]
    _require(not changed, f"fit changed a parameter: {', '.join(changed)}")
    _check_model(fresh, log)
    again = type(estimator)(**parameters).fit(log)
    for part in ("start", "rewards", "normalizer"):
        same = np.array_equal(getattr(fresh.model_, part), getattr(again.model_, part))
        _require(same, f"a second fit gave another model: {part} differs")
    judged = fresh.judge(unseen)
    _require(bool(np.isfinite(judged.loglik)), f"held-out log-likelihood of {judged.loglik!r}")
    _require(fresh.score(unseen) == judged.score, "score differs from judge(...).score")
    try:
        type(estimator)(**parameters).fit(replace(log, rewards=None))
    except InputError:
        pass
    else:
        raise AssertionError("a log without rewards was accepted")


def _check_model(fitted: Estimator, log: Trajectories) -> None:
    model: Any = fitted.model_
    kind = type(model).__name__
    _require(isinstance(model, LinearModel), f"model_ is a {kind}, expected a LinearModel")
    names = f"model_ has the actions {model.actions}, the log {log.action_names}"
    _require(model.actions == log.action_names, names)
    seen = tuple(name for name in model.observations if name != END)
    names = f"model_ has the observations {seen}, the log {log.observation_names}"
    _require(seen == log.observation_names, names)
    rank, n = fitted.rank_, model.dimension
    _require(rank == n, f"rank_ is {rank}, expected the dimension of model_, {n}")
    findings: Any = fitted.findings()
    kind = type(findings).__name__
    _require(isinstance(findings, Findings), f"findings() gave a {kind}, expected Findings")
    _require(
        findings.rank == rank, f"findings() gave the rank {findings.rank}, expected rank_, {rank}"
    )
    _require(findings.caution is fitted.caution_, "findings() gave another caution than caution_")
    estimated: Any = fitted.fitted_
    _require(
        isinstance(estimated, LinearModel),
        f"fitted_ is a {type(estimated).__name__}, expected a LinearModel",
    )
    _require(estimated.observations == model.observations, "fitted_ has other observations")
    _require(
        estimated.final == model.final,
        f"fitted_ has the final observations {estimated.final}, model_ has {model.final}; expected "
        "the same",
    )
    for name, learned in (("model_", model), ("fitted_", estimated)):
        _require(learned.estimator is not None, f"{name}.estimator is not set")
    _require(fitted.models()[0] is model, "models() does not begin with model_")


def _log(seed: int) -> Trajectories:
    """Episodes of a system with two states, noisy observations and uniform actions."""
    rng = np.random.default_rng(seed)
    shape = (_EPISODES, _STEPS)
    actions = rng.integers(2, size=shape)
    flips = np.cumsum((actions == 1) & (rng.random(shape) < _FLIPS), axis=1)
    after = (rng.integers(2, size=(_EPISODES, 1)) + flips) % 2
    observations = np.where(rng.random(shape) < _SEES, after, 1 - after)
    return Trajectories(
        action_names=("stay", "flip"),
        observation_names=("left", "right"),
        actions=actions.ravel(),
        observations=observations.ravel(),
        offsets=np.arange(_EPISODES + 1) * _STEPS,
        terminated=np.zeros(_EPISODES, dtype=np.bool_),
        rewards=after.ravel().astype(np.float64),
        propensities=np.full(actions.size, 0.5),
    )


def _require(holds: bool, otherwise: str) -> None:
    """Not an `assert`: `python -O` must not turn a check into a pass."""
    if not holds:
        raise AssertionError(otherwise)
