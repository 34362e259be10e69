"""How good a model is: what it predicts along episodes that it has not seen.

The run-time filter follows each episode on actions and observations alone. At every step the model
states a distribution of the next observation, whose log-likelihood is summed, and an expected
reward, whose error is squared. Predictions are clipped to probabilities and renormalised; how much
had to be clipped is the negative mass. An observation that the model holds impossible counts with
probability `FLOOR` and leaves the state as if nothing had been seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rpsr.errors import InputError
from rpsr.io.records import Floats, Ints
from rpsr.logs.trajectories import Trajectories
from rpsr.models.linear import LinearModel

FLOOR = 1e-6
BINS = 10


@dataclass(frozen=True, eq=False)
class Moment:
    """One time step of B episodes: their numbers, states (B, n) before it and what it brought.

    actions, observations (B,); rewards (B,) or None; predictions (B, O): probabilities, clipped
    and renormalised; negative (B,): the mass that was clipped.
    """

    step: int
    episodes: Ints
    states: Floats
    actions: Ints
    observations: Ints
    rewards: Floats | None
    predictions: Floats
    negative: Floats


def follow(model: LinearModel, log: Trajectories) -> Iterator[Moment]:
    """Filter all episodes of a log side by side, step by step."""
    if (model.actions, model.observations) != (log.action_names, log.observation_names):
        raise InputError("the log has other actions or observations than the model")
    episodes = np.flatnonzero(log.lengths > 0)
    states = np.repeat(model.start[None], len(episodes), axis=0)
    step = 0
    while len(episodes):
        at = log.offsets[episodes] + step
        actions, observations = log.actions[at], log.observations[at]
        rewards = None if log.rewards is None else log.rewards[at]
        raw = np.einsum("bn,bno->bo", states, model.emissions[actions])
        predictions = np.clip(raw, 0.0, None)
        negative = predictions.sum(axis=1) - raw.sum(axis=1)
        predictions = _normalised(predictions)
        yield Moment(step, episodes, states, actions, observations, rewards, predictions, negative)
        states = advance(model, states, actions, observations)
        step += 1
        going = log.lengths[episodes] > step
        episodes, states = episodes[going], states[going]


def _normalised(rows: Floats) -> Floats:
    totals = rows.sum(axis=1, keepdims=True)
    return np.where(totals > 0, rows / np.where(totals > 0, totals, 1.0), 1.0 / rows.shape[1])


def advance(model: LinearModel, states: Floats, actions: Ints, observations: Ints) -> Floats:
    """The states after a step each, (B, n) -> (B, n); an impossible observation is ignored."""
    following = np.empty_like(states)
    kinds = actions * len(model.observations) + observations
    for kind in np.unique(kinds).tolist():
        rows = np.flatnonzero(kinds == kind)
        a, o = divmod(kind, len(model.observations))
        after = model.operators.left(states[rows], a, o)
        mass = after @ model.normalizer
        lost = ~(mass > max(model.rounding, 1e-12))
        if lost.any():
            blind = sum(
                model.operators.left(states[rows[lost]], a, each)
                for each in range(len(model.observations))
            )
            after[lost] = blind
            mass[lost] = after[lost] @ model.normalizer
        following[rows] = after / np.where(np.abs(mass) > 1e-12, mass, 1.0)[:, None]
    return following


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What held-out episodes say of a model.

    loglik: of an observation given the past and the action, per step. reward_rmse: of the expected
    reward, and reward_std: of always expecting the mean reward; None without rewards.
    negative_mass: the mean probability mass that had to be clipped, per step. steps: how many.
    calibration (BINS, 3): for observations predicted with a probability in a bin, the mean
    prediction, how often they came, and how many predictions there were.
    """

    loglik: float
    reward_rmse: float | None
    reward_std: float | None
    negative_mass: float
    steps: int
    calibration: Floats


def diagnose(model: LinearModel, log: Trajectories) -> Diagnosis:
    """Follow episodes with a model and judge its predictions of every step."""
    if log.steps == 0:
        raise InputError("the log has no steps to judge a model by")
    loglik = negative = squares = 0.0
    bins = np.zeros((BINS, 3))
    for moment in follow(model, log):
        rows = np.arange(len(moment.episodes))
        seen = moment.predictions[rows, moment.observations]
        loglik += float(np.log(np.maximum(seen, FLOOR)).sum())
        negative += float(moment.negative.sum())
        if moment.rewards is not None:
            expected = (moment.states @ model.rewards)[rows, moment.actions]
            squares += float(((expected - moment.rewards) ** 2).sum())
        came = np.zeros_like(moment.predictions)
        came[rows, moment.observations] = 1.0
        which = np.minimum((moment.predictions * BINS).astype(np.int64), BINS - 1).reshape(-1)
        for column, weights in enumerate((moment.predictions, came, np.ones_like(came))):
            bins[:, column] += np.bincount(which, weights.reshape(-1), minlength=BINS)
    some = bins[:, 2] > 0
    bins[some, :2] /= bins[some, 2:]
    judged = log.rewards is not None
    return Diagnosis(
        loglik=loglik / log.steps,
        reward_rmse=float(np.sqrt(squares / log.steps)) if judged else None,
        reward_std=float(log.rewards.std()) if log.rewards is not None else None,
        negative_mass=negative / log.steps,
        steps=log.steps,
        calibration=bins,
    )
