"""What a policy will earn on the true system: a promise from a log alone.

Models of the log (`by_models`) are used unless evidence speaks against them: the model of the plan
is inconsistent, the log hardly shows the policy's actions (`support`), or the bounds by models
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
from rpsr.learning.promises.by_models import models_promise
from rpsr.learning.promises.importance import importance_promise, returns_promise
from rpsr.learning.promises.record import LEVEL, Allowed, Promise
from rpsr.learning.promises.support import gap
from rpsr.learning.spectral.enough import Enough
from rpsr.planning.value.policies import AlphaPolicy

CONTRADICTION = "bounds by models contradict those by importance weighting"


def promise(
    policy: AlphaPolicy,
    logs: Logs,
    families: Sequence[Family] = (),
    *,
    level: float = LEVEL,
    distrust: str = "",
    seed: int = 0,
) -> Promise:
    """The discounted return of a policy on the true system, with bounds of the given level.

    families: models of the log, see `Estimator.families`; without any, importance weighting alone
    gives the bounds. distrust: a reason not to use the models.
    """
    check_level(level)
    log = PreparedLog.of(logs, held=True)
    allowed = Allowed.of(log.census, policy.model.discount)
    weighted = importance_promise(Agreement.of(policy, log), allowed, level)
    if distrust or not families:
        return replace(weighted, reason=distrust or "there are no models to simulate it in")
    fitted = [family[0] for family in families]
    unknown = gap(policy, fitted, log.survey(), allowed.discount, seed)
    if unknown is not None:
        return replace(weighted, reason=unknown.words, gap=unknown)
    found = models_promise(policy, families, allowed, level, seed)
    if found.low > weighted.high or found.high < weighted.low:
        return replace(weighted, reason=CONTRADICTION)
    return found


def behaviour_promise(logs: Logs, discount: float | None, *, level: float = LEVEL) -> Promise:
    """The discounted return of the behaviour policy of a log."""
    check_level(level)
    log = PreparedLog.of(logs, held=True)
    return returns_promise(log.in_memory, Allowed.of(log.census, discount), level)


def check_level(level: float) -> None:
    """Refuse a level of promises that is out of range."""
    if not 0.5 <= level < 1:
        raise DataError(f"level: read {level}, expected one from 0.5 to below 1")


def blind_to_rewards(estimator: Estimator, enough: Enough | None) -> str:
    """Why models cannot value a policy: they are PSRs, and a PSR may not be enough; else empty.

    enough: the verdict on PSRs; None if the log is too short for one.
    """
    psr = estimator.model_.kind in ("psr", "learned-psr")
    if not psr or (enough is not None and enough.verdict == "yes"):
        return ""
    if enough is not None and enough.verdict == "no":
        return "a PSR is not enough for this log, so that PSRs cannot value the policy"
    return "the log does not show that a PSR is enough, so that PSRs may not value the policy right"
