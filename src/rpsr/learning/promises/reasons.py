"""Why a learned policy may fail, as records, each with advice.

- `BadPredictions`: on held-out episodes, after an observation and an action, another observation
  comes much more or less often than predicted. All such cells are tested; the worst one counts if
  its error exceeds `WRONG` and chance (level `CHANCE`, divided by the number of cells).
- `BadRewards`: held-out rewards are predicted hardly better than by their mean.
- `ModelsDisagree`: the policy's values in models of the log differ by much of what it gains.
- `MoreData`: models of resampled logs predict held-out episodes clearly worse than the fit. The
  error of a resampled log's model around the fit is about that of the fit around the truth, so
  this is also what a much longer log would gain.
- `MoreStates`: the largest size that was tried has the highest held-out likelihood.
- `StoppedEarly`: the planner stopped at a limit, and the policy earns much more in models.
- `OneAction`: the policy takes the same action at every step, whatever it observes in simulations.
- `PlanDisagrees`: the plan's value is not what the policy earns in models, for another reason.
- `Unsupported`: the policy takes actions that the log hardly shows, where it takes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.stats import norm

from rpsr.learning.base import Estimator, Family
from rpsr.learning.diagnostics import Diagnosis
from rpsr.learning.ends import as_seen_by
from rpsr.learning.estimated_models import filtered, log_chances
from rpsr.learning.promises.record import Gap
from rpsr.learning.promises.safe import SafeChoice
from rpsr.logs.trajectories import Trajectories
from rpsr.models.linear import LinearModel

WRONG, CHANCE, FEWEST = 0.05, 1e-3, 30  # probability, level, steps in a cell
HARDLY = 0.99  # of the standard deviation of rewards
MUCH = 0.3  # of the gain over the behaviour policy
CLEARLY, WORTH = 3.0, 0.01  # standard errors, nats per step
APART = 0.2  # of a value


@dataclass(frozen=True)
class Reason:
    """A reason for doubt, made from its fields: what is wrong, and what to do, a clause each."""

    WORDS: ClassVar[str]
    ADVICE: ClassVar[str]

    @property
    def words(self) -> str:
        """What is wrong."""
        return self.WORDS.format(**vars(self))

    @property
    def advice(self) -> str:
        """What to do."""
        return self.ADVICE.format(**vars(self))

    def document(self) -> dict[str, Any]:
        """The record as plain JSON values."""
        words = {"words": self.words, "advice": self.advice}
        return {"kind": type(self).__name__, **words, **asdict(self)}


@dataclass(frozen=True)
class BadPredictions(Reason):
    """After observation `after` and `action`, `observation` has another frequency."""

    WORDS = (
        "held-out predictions are wrong after {after}, {action}: {observation} was predicted with "
        "probability {predicted:.2g} and came in {observed:.2g} of {steps} steps"
    )
    ADVICE = "record more episodes that come there, or allow more states (--rank)"

    after: str
    action: str
    observation: str
    predicted: float
    observed: float
    steps: int


@dataclass(frozen=True)
class BadRewards(Reason):
    """The error of expected rewards beside that of the mean reward."""

    WORDS = (
        "held-out rewards are predicted hardly better than by their mean (RMSE {rmse:.4g} instead "
        "of {std:.4g})"
    )
    ADVICE = "record more episodes, above all of those with rare rewards"

    rmse: float
    std: float


@dataclass(frozen=True)
class ModelsDisagree(Reason):
    """The lowest and the highest value of the policy in models of the log."""

    WORDS = (
        "models that explain the log about equally well disagree on the policy: its value is "
        "{low:.4g} in one and {high:.4g} in another"
    )
    ADVICE = "trust the lower bound only, and record more episodes"

    low: float
    high: float


@dataclass(frozen=True)
class MoreData(Reason):
    """The held-out log-likelihood per step that models of resampled logs lose."""

    WORDS = (
        "the log is short for its model: models of resampled logs lose {loss:.2g} nats per "
        "held-out step"
    )
    ADVICE = "record more episodes; a much longer log would gain about as much as they lose"

    loss: float
    stderr: float


@dataclass(frozen=True)
class MoreStates(Reason):
    """The largest number of states that was tried is the best one."""

    WORDS = "the held-out likelihood is highest at the largest size that was tried, {states} states"
    ADVICE = "try more states (--rank, or search.sizes and search.most of EMRPSR)"

    states: int


@dataclass(frozen=True)
class OneAction(Reason):
    """The only action of the policy."""

    WORDS = "the policy always takes {action}, whatever is observed in simulations"
    ADVICE = (
        "if that cannot be right, try another --estimator, such as spectral, or fewer states "
        "(--rank 2), or record more episodes"
    )

    action: str


@dataclass(frozen=True)
class StoppedEarly(Reason):
    """The planner's value beside the policy's value in models; status: why it stopped."""

    WORDS = (
        "the planner's value is {value:.4g}, and the policy earns {simulated:.4g} in models of the "
        "log (planner: {status})"
    )
    ADVICE = "plan on the model for longer, with rpsr solve"

    status: str
    value: float
    simulated: float


@dataclass(frozen=True)
class PlanDisagrees(Reason):
    """The value of a plan beside the policy's value in models."""

    WORDS = (
        "the plan's value is {value:.4g} in its own model, and the policy earns {simulated:.4g} in "
        "models of the log"
    )
    ADVICE = "do not rely on either number; record more episodes, or try another estimator"

    value: float
    simulated: float


@dataclass(frozen=True)
class Unsupported(Reason):
    """Steps of the policy that the log hardly shows."""

    WORDS = "{gap.words}"
    ADVICE = "record episodes that take {gap.action} {gap.where}"

    gap: Gap


def reasons(
    safe: SafeChoice,
    trained: Estimator,
    heldout: Diagnosis,
    held_out: Trajectories,
    families: Sequence[Family],
    most_states: int | None,
) -> tuple[Reason, ...]:
    """The reasons that apply to a chosen policy.

    trained, families: the estimator that did not learn from the held-out episodes, and its models.
    most_states: the largest number of states that was tried, if that one was the best.
    """
    gap = safe.chosen.promise.gap
    found = [
        None if gap is None else Unsupported(gap),
        _one_action(safe),
        _disagreement(safe),
        _predictions(trained.fitted_, held_out),
        _rewards(heldout),
        None if most_states is None else MoreStates(most_states),
        _data(families[0], held_out) if families else None,
        _planner(safe),
    ]
    return tuple(reason for reason in found if reason is not None)


def _one_action(safe: SafeChoice) -> Reason | None:
    shares, model = safe.chosen.shares, safe.solution.model
    if len(shares) != 1 or min(len(model.actions), len(model.observations)) == 1:
        return None
    return OneAction(next(iter(shares)))


def _disagreement(safe: SafeChoice) -> Reason | None:
    mine, logged = safe.chosen.promise, safe.offers[-1].promise
    if mine.in_models is None:
        return None
    low, high = mine.in_models
    apart = high - low > MUCH * abs(mine.value - logged.value)
    return ModelsDisagree(low, high) if apart else None


def _rewards(heldout: Diagnosis) -> Reason | None:
    rmse, std = heldout.reward_rmse, heldout.reward_std
    if rmse is None or not std or rmse < HARDLY * std:
        return None
    return BadRewards(rmse, std)


def _planner(safe: SafeChoice) -> Reason | None:
    plan, found = safe.solution, safe.chosen.promise
    if found.in_models is None:
        return None
    low, high = found.in_models
    room = APART * max(abs(plan.value), abs(found.value))
    if low - room <= plan.value <= high + room:
        return None
    # More planning raises a value; one that is too high was not stopped too early.
    if plan.status.reached_goal or plan.value > high:
        return PlanDisagrees(plan.value, found.value)
    stopped = plan.status.value.partition(":")[0]
    return StoppedEarly(stopped, plan.value, found.value)


def _predictions(model: LinearModel, log: Trajectories) -> Reason | None:
    """The worst cell of an action, the observation before it and the one after it, if any."""
    log = as_seen_by(log, model)
    predicted = filtered(model, log).predictions
    n_observations = len(log.observation_names)
    later = np.ones(log.steps, dtype=bool)
    later[log.offsets[:-1][log.lengths > 0]] = False  # the first step has no observation before it
    steps = np.flatnonzero(later)
    cell = log.actions[steps] * n_observations + log.observations[steps - 1]
    n_cells = len(log.action_names) * n_observations
    count = np.bincount(cell, minlength=n_cells)
    worst: tuple[float, Reason | None] = (0.0, None)
    limit = float(norm.isf(CHANCE / 2 / max(1, int((count >= FEWEST).sum()) * n_observations)))
    for o, name in enumerate(log.observation_names):
        chance = predicted[steps, o]
        mean = np.bincount(cell, chance, minlength=n_cells) / np.maximum(count, 1)
        spread = np.bincount(cell, chance * (1 - chance), minlength=n_cells)
        came = np.bincount(cell, log.observations[steps] == o, minlength=n_cells)
        share = came / np.maximum(count, 1)
        # one more outcome that was as likely as not: a prediction of exactly 0 is no certainty
        z = np.abs(share - mean) * count / np.sqrt(spread + 0.25)
        bad = (count >= FEWEST) & (np.abs(share - mean) > WRONG) & (z > limit)
        for k in np.flatnonzero(bad).tolist():
            if z[k] > worst[0]:
                action, before = divmod(k, n_observations)
                names = log.observation_names[before], log.action_names[action], name
                figures = float(mean[k]), float(share[k]), int(count[k])
                worst = float(z[k]), BadPredictions(*names, *figures)
    return worst[1]


def _data(family: Family, log: Trajectories) -> Reason | None:
    """Whether refits lose likelihood on held-out episodes, by a paired comparison per episode."""
    log = as_seen_by(log, family[0])
    fitted, *again = (log_chances(filtered(model, log), log) for model in family)
    if not again or log.episodes < 2:
        return None
    lost = fitted - np.mean(again, axis=0)
    episode = np.repeat(np.arange(log.episodes), log.lengths)
    per_step = float(lost.mean())
    sums = np.bincount(episode, lost - per_step, minlength=log.episodes)
    stderr = float(np.sqrt((sums**2).sum()) / log.steps)
    return MoreData(per_step, stderr) if per_step > max(WORTH, CLEARLY * stderr) else None
