"""Choose a plan, when several models explain a log about equally well.

One plan is made per model, and every plan is simulated in every model. The plan with the highest
mean value over all models is chosen: a plan that exploits an error of one model has a low value in
the others. The off-policy value of each plan (`off_policy`) is reported, with an interval, but not
used: it is too noisy on short logs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np

from rpsr.errors import DataError
from rpsr.io.records import Floats
from rpsr.learning.base import Estimator
from rpsr.learning.parameter_checks import FROM_1
from rpsr.learning.plan_choice.off_policy import OffPolicyEstimate, off_policy_value
from rpsr.learning.plan_choice.plausibility import play_out, simulated_value, too_good
from rpsr.learning.prepared_log import Logs, PreparedLog
from rpsr.logs.census import Census
from rpsr.models.linear import LinearModel
from rpsr.parallel import in_order
from rpsr.planning.planners import planner_by_name, solve
from rpsr.planning.solution import Planner, Solution
from rpsr.planning.value.policies import AlphaPolicy

RULE = "the highest mean value over all models"
EPSILON = 1e-3  # of plans, per unit of the range of rewards
OFF_POLICY_STEPS = 200_000  # steps of a log that are enough for an off-policy estimate


@dataclass(frozen=True, eq=False)
class Option:
    """One plan: its solution, its simulated values in all models (M,), its off-policy value.

    shares: of its actions, as in `PlayedOut`.
    """

    solution: Solution
    values: Floats
    off_policy: OffPolicyEstimate | None
    doubt: str = ""  # the reason not to believe its own model, or empty
    shares: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def mean(self) -> float:
        """The mean value over all models, by which the plan is chosen."""
        return float(self.values.mean())


@dataclass(frozen=True, eq=False)
class Choice:
    """The plan chosen by the rule, and the others."""

    COLUMNS: ClassVar = (
        "plan",
        "rank",
        "planner's value",
        "mean value",
        "lowest value",
        "off-policy value",
        "best plan",
    )

    options: tuple[Option, ...]
    index: int
    rule: str

    @property
    def chosen(self) -> Option:
        """The option that the rule chose."""
        return self.options[self.index]

    @property
    def solution(self) -> Solution:
        """The plan that was chosen."""
        return self.chosen.solution

    @property
    def policy(self) -> AlphaPolicy:
        """The policy that was chosen, ready to be followed."""
        return self.solution.value_function.policy(self.solution.model)

    @property
    def own_model(self) -> str:
        """A sentence if the best plan is not of the first model, the learned one; else empty."""
        if self.index == 0:
            return ""
        ranks = [option.solution.model.dimension for option in self.options]
        return (
            f"The best plan was made on another model (rank {ranks[self.index]}) than the learned "
            f"one, that of plan 1 (rank {ranks[0]}), so its planner's value does not hold for the "
            "learned one."
        )

    def rows(self) -> list[dict[str, Any]]:
        """One row per option, as plain JSON values."""
        return [
            {
                "chosen": number == self.index,
                "dimension": option.solution.model.dimension,
                "own_value": option.solution.value,
                "mean_value": option.mean,
                "values": option.values.tolist(),
                "off_policy": option.off_policy and option.off_policy.document(),
                "doubt": option.doubt or None,
            }
            for number, option in enumerate(self.options)
        ]

    def summary(self) -> list[tuple[Any, ...]]:
        """One row per option, under `COLUMNS`."""
        return [
            (
                number,
                option.solution.model.dimension,
                option.solution.value,
                option.mean,
                float(option.values.min()),
                "" if option.off_policy is None else str(option.off_policy),
                "yes" if option is self.chosen else "",
            )
            for number, option in enumerate(self.options, 1)
        ]

    def agreement(self, digits: int = 4) -> str:
        """Which plans have equal rows in `summary`, in sentences; empty if none have."""
        alike: dict[tuple[str, ...], list[str]] = {}
        for number, *cells, _ in self.summary():
            shown = tuple(
                f"{cell:.{digits}g}" if isinstance(cell, float) else str(cell) for cell in cells
            )
            alike.setdefault(shown, []).append(str(number))
        if len(alike) == 1 < len(self.options):
            return f"All {len(self.options)} plans have equal rows."
        return " ".join(
            f"Plans {', '.join(first)} and {last} have equal rows."
            for *first, last in alike.values()
            if first
        )


def choose(
    models: Sequence[LinearModel],
    logs: Logs | None = None,
    *,
    planner: Planner | None = None,
    episodes: int = 300,
    steps: int = 100,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
    executor: Executor | None = None,
) -> Choice:
    """Plan in every model and choose by the mean value over all of them.

    planner: by default PBVI, to a precision relative to the range of the rewards. episodes, steps:
    of the simulations, from which all values in models come, even of a single model. logs: for
    off-policy estimates (the first `OFF_POLICY_STEPS` steps); None leaves them out. executor: makes
    the plans and simulates them, see `rpsr.parallel`.
    """
    if isinstance(models, LinearModel) or not models:
        read = type(models).__name__ if isinstance(models, LinearModel) else "none"
        raise DataError(f"models: read {read}, expected a list of at least one model")
    FROM_1.check("episodes", episodes)
    FROM_1.check("steps", steps)
    whole = None if logs is None else PreparedLog.of(logs)
    log = None if whole is None else whole.beginning(OFF_POLICY_STEPS)
    planner = planner or precise(log, seed)
    plans = list(in_order(partial(solve, planner=planner), models, executor, progress, "plan"))
    census = Census() if whole is None else whole.census
    weigh = partial(
        _option, models=models, log=log, census=census, episodes=episodes, steps=steps, seed=seed
    )
    options = tuple(in_order(weigh, plans, executor, progress, "value of plan"))
    rule = f"{RULE}, by {episodes} simulated episodes of {steps} steps in each"
    return Choice(options, int(np.argmax([option.mean for option in options])), rule)


def _option(
    plan: Solution,
    models: Sequence[LinearModel],
    log: PreparedLog | None,
    census: Census,
    episodes: int,
    steps: int,
    seed: int,
) -> Option:
    """A plan with its values; it is doubted if its model cannot be believed."""
    played = play_out(plan, seed=seed)
    return Option(
        plan,
        np.array([simulated_value(plan, model, episodes, steps, seed) for model in models]),
        None if log is None else _off_policy(plan, log, seed),
        (played.doubt if played is not None else "") or too_good(plan, census),
        {} if played is None else played.shares,
    )


def _off_policy(plan: Solution, log: PreparedLog, seed: int) -> OffPolicyEstimate:
    """The value of a plan's policy by the log."""
    return off_policy_value(plan.model, plan.vectors, log, seed=seed)


def precise(log: PreparedLog | None, seed: int) -> Planner:
    """The default planner, PBVI, to a precision relative to the range of a log's rewards."""
    return planner_by_name("pbvi", seed=seed, epsilon=EPSILON * _unit(log))


def _unit(log: PreparedLog | None) -> float:
    """The unit of rewards: 1, or the range of a log's rewards if that is less."""
    rewards = None if log is None else log.in_memory.rewards
    if rewards is None or not len(rewards):
        return 1.0
    extent = float(np.ptp(rewards))
    return min(extent, 1.0) if extent else 1.0


def bootstrap(
    estimator: Estimator,
    logs: Logs,
    *,
    repeats: int = 5,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
    executor: Executor | None = None,
) -> list[LinearModel]:
    """Models of resampled logs: episodes, or stretches of long ones, drawn with replacement.

    executor: fits them, see `rpsr.parallel`; it needs an estimator without `progress`.
    """
    log = PreparedLog.of(logs)  # ends are observations in all samples or in none
    if executor is not None:
        estimator = estimator.silent()
    seeds = range(seed, seed + repeats)
    refit = partial(_refitted, estimator, log)
    return list(in_order(refit, seeds, executor, progress, "resampled log"))


def _refitted(estimator: Estimator, log: PreparedLog, seed: int) -> LinearModel:
    return copy(estimator).fit(log.resampled(seed)).model_
