"""Why a learned policy may fail, as records, each with advice.

- `BadPredictions`: on held-out episodes, after an observation and an action, another observation
  comes much more or less often than predicted. All such cells are tested; the worst one counts if
  its error exceeds `WRONG` and chance (level `CHANCE`, divided by the number of cells).
- `BadRewards`: held-out rewards are predicted hardly better than by their mean.
- `EqualRewards`: all rewards of the log are equal.
- `FewHeldOut`: so few episodes are held out that the tests on them show nothing.
- `LongMemory`: held-out rewards depend on an earlier observation that the model forgets
  (`long_memory`).
- `ModelsDisagree`: the policy's values in models that were fitted to the whole log differ by much
  of what it gains. Their refits, and models of halves, always differ.
- `MoreData`: models of resampled logs predict held-out episodes clearly worse than the fit. The
  error of a resampled log's model around the fit is about that of the fit around the truth, so
  this is also what a much longer log would gain.
- `MoreStates`: the largest size that was tried has the highest held-out likelihood.
- `StoppedEarly`: the planner stopped at a limit, and the policy earns much more in models.
- `OneAction`: the policy takes the same action at every step, whatever it observes in simulations.
- `PlanDisagrees`: the plan's value is not what the policy earns in models, for another reason.
- `SingleAction`: the log has one action only.
- `Unsupported`: the policy takes actions that the log hardly shows, where it takes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from rpsr.learning.base import Estimator, Family
from rpsr.learning.chunks import whole
from rpsr.learning.diagnostics import Diagnosis
from rpsr.learning.estimated_models import filtered, log_chances
from rpsr.learning.plan_choice.choice import OFF_POLICY_STEPS
from rpsr.learning.prepared_log import PreparedLog
from rpsr.learning.promises.long_memory import long_memory
from rpsr.learning.promises.promise import Gap
from rpsr.learning.promises.reason import Reason
from rpsr.learning.promises.safe import SafeChoice
from rpsr.logs.census import Census
from rpsr.logs.parts import HELD_OUT, few_long
from rpsr.models.linear import LinearModel

WRONG, CHANCE, FEWEST = 0.05, 1e-3, 30  # probability, level, steps in a cell
HARDLY = 0.99  # of the standard deviation of rewards
ROUNDING = 1e-9  # of the range of rewards: a smaller deviation is rounding
TESTABLE = 5  # held-out episodes
MUCH = 0.3  # of the gain over the behaviour policy
CLEARLY, WORTH = 3.0, 0.01  # standard errors, nats per step
APART = 0.2  # of a value


@dataclass(frozen=True)
class BadPredictions(Reason):
    """After observation `after` and `action`, `observation` has another frequency."""

    WORDS = (
        "held-out predictions are wrong after {after}, {action}: {observation} was predicted with "
        "probability {predicted:.2g} and came in {observed:.2g} of {steps} steps"
    )
    ADVICE = "record more episodes with this case, or allow more states (--rank)"

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
    ADVICE = "record more episodes, especially with rare rewards"

    rmse: float
    std: float


@dataclass(frozen=True)
class EqualRewards(Reason):
    """The only reward of the log."""

    WORDS = "all rewards of the log are {reward:.4g}, so that it cannot tell policies apart"
    ADVICE = "check the reward column"

    reward: float


@dataclass(frozen=True)
class FewHeldOut(Reason):
    """How many episodes are held out."""

    WORDS = (
        "the number of held-out episodes is {episodes}, too few to detect wrong predictions, wrong "
        "rewards or a lack of data"
    )
    ADVICE = (
        f"record at least {TESTABLE * HELD_OUT} episodes, of which one in {HELD_OUT} is held out; "
        "until then, the model may be wrong without another warning"
    )

    episodes: int


@dataclass(frozen=True)
class ModelsDisagree(Reason):
    """The lowest and the highest value of the policy in models fitted to the whole log."""

    WORDS = (
        "models that explain the log about equally well disagree on the policy: its value is "
        "{low:.4g} in one and {high:.4g} in another"
    )
    ADVICE = (
        "record more episodes; the bounds hold only if the true system is like one of these models"
    )

    low: float
    high: float


@dataclass(frozen=True)
class MoreData(Reason):
    """The held-out log-likelihood per step that models of resampled logs lose."""

    WORDS = (
        "the log is short for its model: the log-likelihood of models of resampled logs is lower "
        "by {loss:.2g} nats per held-out step"
    )
    ADVICE = (
        "record more episodes; a much longer log would raise the log-likelihood by about as much"
    )

    loss: float
    stderr: float


@dataclass(frozen=True)
class MoreStates(Reason):
    """The largest number of states that was tried is the best one."""

    WORDS = "the held-out likelihood is highest at the largest size that was tried, {states} states"
    ADVICE = "try more states (--rank; in Python, search.sizes and search.most of EMRPSR)"

    states: int


@dataclass(frozen=True)
class OneAction(Reason):
    """The only action of the policy; states: the dimension of its model, without ends of tasks."""

    WORDS = "the policy always takes {action}, whatever is observed in simulations"
    ADVICE = (
        "if that cannot be right, try another --estimator (em or spectral), {fewer}or record more "
        "episodes"
    )

    action: str
    states: int

    @property
    def advice(self) -> str:
        """The remedy, in a clause."""
        return self.ADVICE.format(fewer="or fewer states (--rank 2), " if self.states > 2 else "")


@dataclass(frozen=True)
class SingleAction(Reason):
    """The only action of the log."""

    WORDS = "the log has one action only, {action}, so that it cannot tell policies apart"
    ADVICE = "check the action column"

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
    held_out: PreparedLog,
    log: PreparedLog,
    families: Sequence[Family],
    most_states: int | None,
    census: Census,
) -> tuple[Reason, ...]:
    """The reasons that apply to a chosen policy.

    trained, families: the estimator that did not learn from the held-out episodes, and its models.
    log: the whole log, or its beginning, like the held-out episodes.
    most_states: the largest number of states that was tried, if that one was the best. census: of
    the log.
    """
    gap = safe.chosen.promise.gap
    candidates = [
        None if gap is None else Unsupported(gap),
        None if faults_of(census) else _one_action(safe),
        _disagreement(safe),
        _predictions(trained.fitted_, held_out),
        _rewards(heldout, census),
        long_memory(trained, held_out, log, safe.solution.model),
        None if most_states is None else MoreStates(most_states),
        _data(families[0], held_out) if families else None,
        _few_held_out(held_out, census),
        _planner(safe),
    ]
    return tuple(reason for reason in candidates if reason is not None)


def faults_of(census: Census) -> tuple[Reason, ...]:
    """Why a log cannot tell policies apart."""
    only = census.only_action
    return (
        *((EqualRewards(census.low),) if census.equal_rewards else ()),
        *((SingleAction(only),) if only else ()),
    )


def _few_held_out(held_out: PreparedLog, census: Census) -> Reason | None:
    if few_long(census.lengths.total(), max(census.lengths, default=0)):
        return None  # the end of a long recording is held out
    if sum(part.steps for part in held_out) >= OFF_POLICY_STEPS // 2:
        return None  # enough steps to test, and there may be more held-out episodes than these
    episodes = sum(int((part.lengths > 0).sum()) for part in held_out)
    return FewHeldOut(episodes) if episodes < TESTABLE else None


def _one_action(safe: SafeChoice) -> Reason | None:
    shares, model = safe.chosen.shares, safe.solution.model
    if len(shares) != 1 or min(len(model.actions), len(model.observations)) == 1:
        return None
    return OneAction(next(iter(shares)), model.dimension - bool(model.final))


def _disagreement(safe: SafeChoice) -> Reason | None:
    mine, logged = safe.chosen.promise, safe.offers[-1].promise
    if mine.in_fits is None or mine.value is None or logged.value is None:
        return None
    low, high = mine.in_fits
    apart = high - low > MUCH * abs(mine.value - logged.value)
    return ModelsDisagree(low, high) if apart else None


def _rewards(heldout: Diagnosis, census: Census) -> Reason | None:
    rmse, std = heldout.reward_rmse, heldout.reward_std
    if rmse is None or std is None or std <= ROUNDING * (census.high - census.low):
        return None
    if rmse < HARDLY * std:
        return None
    return BadRewards(rmse, std)


def _planner(safe: SafeChoice) -> Reason | None:
    plan, promise = safe.solution, safe.chosen.promise
    if promise.in_models is None or promise.value is None:
        return None
    low, high = promise.in_models
    room = APART * max(abs(plan.value), abs(promise.value))
    if low - room <= plan.value <= high + room:
        return None
    # More planning raises a value; one that is too high was not stopped too early.
    if plan.status.reached_goal or plan.value > high:
        return PlanDisagrees(plan.value, promise.value)
    stopped = plan.status.value.partition(":")[0]
    return StoppedEarly(stopped, plan.value, promise.value)


def _predictions(model: LinearModel, held_out: PreparedLog) -> Reason | None:
    """The worst cell of an action, the observation before it and the one after it, if any."""
    log = whole(held_out.as_seen_by(model))
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


def _data(family: Family, held_out: PreparedLog) -> Reason | None:
    """Whether refits lose likelihood on held-out episodes, by a paired comparison per episode."""
    log = whole(held_out.as_seen_by(family[0]))
    fitted, *again = (log_chances(filtered(model, log), log) for model in family)
    if not again or log.episodes < 2:
        return None
    lost = fitted - np.mean(again, axis=0)
    episode = np.repeat(np.arange(log.episodes), log.lengths)
    per_step = float(lost.mean())
    sums = np.bincount(episode, lost - per_step, minlength=log.episodes)
    stderr = float(np.sqrt((sums**2).sum()) / log.steps)
    return MoreData(per_step, stderr) if per_step > max(WORTH, CLEARLY * stderr) else None
