"""Promises: the return of a policy on the true system, with bounds, from a log alone.

Models of the log (`by_models`) are used unless evidence speaks against them: the model of the plan
is inconsistent, the log hardly shows the policy's actions (`log_support`), or the bounds by models
contradict those by importance weighting. Then importance
weighting alone (`importance`) gives the bounds. These need no model, but are wide: a policy that
differs from the behaviour policy agrees with few episodes for more than a few steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rpsr.errors import DataError
from rpsr.learning.base import Estimator, Family
from rpsr.learning.plan_choice.off_policy import Agreement
from rpsr.learning.prepared_log import Logs, PreparedLog
from rpsr.learning.promises.by_models import models_promise, play
from rpsr.learning.promises.importance import importance_promise, returns_promise
from rpsr.learning.promises.log_support import gap
from rpsr.learning.promises.promise import LEVEL, Promise, ReturnRange
from rpsr.learning.spectral.psr_verdict import Enough
from rpsr.logs.trajectories import Trajectories
from rpsr.models.linear import LinearModel
from rpsr.planning.value.policies import AlphaPolicy

CONTRADICTION = "bounds by models contradict those by importance weighting"


def promise(
    policy: AlphaPolicy,
    logs: Logs,
    searches: Sequence[Sequence[Family]] = (),
    *,
    level: float = LEVEL,
    distrust: str = "",
    seed: int = 0,
) -> Promise:
    """The discounted return of a policy on the true system, with bounds of the given level.

    searches: models of the log, see `Estimator.families`, those that one search found together,
    and those of the whole log first; without any, importance weighting alone gives the bounds.
    distrust: a reason not to use the models.
    """
    check_level(level)
    log = PreparedLog.of(logs, held=True)
    allowed = ReturnRange.of(log.census, policy.model.discount)
    weighted = importance_promise(Agreement.of(policy, log), allowed, level)
    if distrust or not searches:
        return replace(weighted, reason=distrust or "there are no models to simulate it in")

    def run(model: LinearModel) -> Trajectories:
        return play(model, policy, allowed.discount, seed=seed)

    fitted = [[run(family[0]) for family in families] for families in searches]
    unknown = gap([first for runs in fitted for first in runs], log.survey(), allowed.discount)
    if unknown is not None:
        return replace(weighted, reason=unknown.words, gap=unknown)
    runs = [
        [[first, *map(run, family[1:])] for first, family in zip(firsts, families, strict=True)]
        for firsts, families in zip(fitted, searches, strict=True)
    ]
    by_models = models_promise(runs, allowed, level)
    if by_models.low > weighted.high or by_models.high < weighted.low:
        return replace(weighted, reason=CONTRADICTION)
    return by_models


def behaviour_promise(logs: Logs, discount: float | None, *, level: float = LEVEL) -> Promise:
    """The discounted return of the behaviour policy of a log."""
    check_level(level)
    log = PreparedLog.of(logs, held=True)
    return returns_promise(log.in_memory, ReturnRange.of(log.census, discount), level)


def check_level(level: float) -> None:
    """Refuse a level of promises that is out of range."""
    if not 0.5 <= level < 1:
        raise DataError(f"level: read {level}, expected a number from 0.5 to below 1")


def blind_to_rewards(estimator: Estimator, enough: Enough | None) -> str:
    """Why models cannot value a policy: they are PSRs, and a PSR may not be enough; else empty.

    enough: the verdict on PSRs; None if the log is too short for one.
    """
    if estimator.rewards_in_state or (enough is not None and enough.verdict == "yes"):
        return ""
    if enough is not None and enough.verdict == "no":
        return "a PSR is not enough for this log, so that PSRs cannot value the policy"
    return "the log does not show that a PSR is enough, so that PSRs may not value the policy right"
