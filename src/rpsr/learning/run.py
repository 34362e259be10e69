"""Learn a model from a log by an estimator's name, with diagnostics and an optional plan."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from rpsr.errors import DataError
from rpsr.learning.base import Estimator, Family
from rpsr.learning.diagnostics import Diagnosis
from rpsr.learning.estimator_names import configured, streams
from rpsr.learning.last_k import LastKTable
from rpsr.learning.moments.survey import Survey
from rpsr.learning.plan_choice.choice import OFF_POLICY_STEPS, Choice, bootstrap, choose, precise
from rpsr.learning.prepared_log import Logs, PreparedLog
from rpsr.learning.promises.failure_reasons import faults_of, reasons
from rpsr.learning.promises.make_promise import blind_to_rewards, check_level
from rpsr.learning.promises.promise import LEVEL
from rpsr.learning.promises.reason import Reason
from rpsr.learning.promises.safe import SafeChoice, safe_choice
from rpsr.learning.propensities import Behaviour
from rpsr.learning.result import Learned
from rpsr.learning.spectral.psr_verdict import Enough, TooShort, psr_enough
from rpsr.live import live_line
from rpsr.logs.parts import HELD_OUT
from rpsr.models.objectives import Objective
from rpsr.planning.planners import solve
from rpsr.planning.solution import Solution
from rpsr.showing import counted

FAMILIES, REFITS = 2, 2  # of a fit: explanations of the log, and models of resampled logs for each
REFITS_OF_HALVES = 1
TABLE_STEPS = 50_000  # of a log, for the table that is compared with a plan
_Planned = tuple[Choice | None, SafeChoice | None, tuple[Reason, ...]]


# The arguments are the options of `rpsr learn`.
def learn(
    name: str,
    logs: Logs,
    /,
    *,
    discount: float | None = None,
    objective: Objective | None = None,
    plan: bool = False,
    ensemble: int = 0,
    level: float = LEVEL,
    seed: int = 0,
    progress: Callable[[str], None] | bool | None = None,
    executor: Executor | None = None,
    **options: Any,
) -> Learned:
    """Fit an estimator to a log, evaluate it on held-out episodes, and optionally plan.

    For the evaluation, the same estimator is fitted to four fifths of the episodes and predicts the
    last fifth. Episodes that an estimator holds out for its own choices are among the four fifths.
    discount: of the model. objective: what counts instead of a discounted sum, such as
    `rpsr.reach("goal")` for an observation; the model is then one of its task, with discount 1.
    plan: whether to plan on all models that explain the log about equally well, and on those of
    `ensemble` resampled logs, to choose one plan by its value in all of them, and to compare its
    promise with that of a table and of the behaviour policy. level: of promises. seed: random seed.
    progress: called with the current work; True shows it, in a notebook or on a terminal. executor:
    works on parts of a large log, resampled logs and plans, see `rpsr.parallel`. options:
    parameters of the estimator, as in `estimator_by_name`.
    """
    if objective is not None and discount is not None:
        raise DataError("discount: expected none with an objective, which does not discount")
    discount = discount if objective is None else 1.0
    line = live_line("learning") if progress is True else nullcontext(progress or None)
    with line as say:
        began = time.perf_counter()
        asked = {"discount": discount, "plan": plan, "seed": seed, **options}
        run = _Run(name, asked, level, ensemble, say, executor)
        source = run.estimator().behaviour_source  # refuses wrong arguments before a log is read
        check_level(level)
        log = PreparedLog.of(logs, held=not streams(name), executor=executor)
        if objective is not None:
            log = log.for_objective(objective)
        survey = _surveyed(log, source, say)
        estimator = run.estimator().fit(log)
        planned: _Planned = (None, None, ())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the first fit has said it
            trained = run.estimator("held-out evaluation: ").fit(log.training)
            heldout = trained.judge(log.held_out)
            logged = "logged" if survey.has_propensities else "estimated"
            enough = _psr_enough(log, source or logged, seed)
            if plan:
                planned = _plan(run, log, estimator, trained, heldout, enough)
        choice, safe, why = planned
        return Learned(
            name=name,
            estimator=estimator.silent(),
            model=estimator.model_,
            findings=estimator.findings(),
            episodes=survey.episodes,
            steps=survey.steps,
            census=log.census,
            heldout=heldout,
            overlap=survey.overlap,
            psr_enough=enough,
            choice=choice,
            safe=safe,
            # an objective has rewards of its own, which may well be equal
            reasons=(*(faults_of(log.census) if objective is None else ()), *why),
            seconds=time.perf_counter() - began,
        )


@dataclass(frozen=True)
class _Run:
    """The arguments of one call of `learn`; asked: those of `configured`."""

    name: str
    asked: dict[str, Any]
    level: float
    ensemble: int
    progress: Callable[[str], None] | None
    executor: Executor | None

    def estimator(self, stage: str = "") -> Estimator:
        """The estimator, not fitted; its progress begins with the stage."""
        made, say = configured(self.name, **self.asked), self.progress
        if say is not None:
            made.progress = lambda what: say(f"{stage}{what}")
        return made


def _plan(
    run: _Run,
    log: PreparedLog,
    estimator: Estimator,
    trained: Estimator,
    heldout: Diagnosis,
    enough: Enough | None,
) -> _Planned:
    """The chosen plan, the safe choice and the reasons for doubt.

    trained: the estimator fitted without the held-out episodes.
    """
    seed = run.asked["seed"]
    how: dict[str, Any] = {"seed": seed, "progress": run.progress, "executor": run.executor}
    again = run.estimator("resampled log: ")
    models = estimator.models() + bootstrap(again, log, repeats=run.ensemble, **how)
    choice = choose(models, log, **how)
    if run.progress is not None:
        run.progress("promises")
    families = trained.silent().families(log.training, FAMILIES, REFITS, seed)
    part = log.beginning(OFF_POLICY_STEPS)
    with_table = trained.compares_with_table
    safe = safe_choice(
        choice,
        part,
        [
            estimator.silent().families(log, FAMILIES, REFITS, seed),
            *(_by_halves(run, log, seed) or [families]),
        ],
        table=_table_plan(part, run.asked["discount"], seed) if with_table else None,
        distrust=blind_to_rewards(estimator, enough),
        level=run.level,
        seed=seed,
    )
    rest = log.held_out.beginning(OFF_POLICY_STEPS)
    most = estimator.findings().at_largest
    return choice, safe, reasons(safe, trained, heldout, rest, part, families, most, log.census)


def _by_halves(run: _Run, log: PreparedLog, seed: int) -> list[list[Family]]:
    """Families of models of each half of a log; none if a half is too short to learn from.

    Models of the whole log, on which a policy was planned, share the errors that it exploits.
    """
    searches: list[list[Family]] = []
    for number, half in enumerate(log.halves, 1):
        try:
            fitted = run.estimator(f"half {number} of the log: ").fit(half)
            families = fitted.silent().families(half, FAMILIES, REFITS_OF_HALVES, seed)
        except DataError:
            return []
        searches.append(families)
    return searches


def _table_plan(log: PreparedLog, discount: float | None, seed: int) -> Solution:
    """The plan on a table over the last k interactions of a log, or of its beginning."""
    table = LastKTable(discount=discount, seed=seed).fit(log.beginning(TABLE_STEPS))
    return solve(table.model_, precise(log, seed))


def _surveyed(
    log: PreparedLog, behaviour: Behaviour | None, progress: Callable[[str], None] | None
) -> Survey:
    """The survey of a log; a log that is too small or incomplete to learn from is an error."""
    survey = log.survey(progress=progress)
    if survey.episodes == 0:
        raise DataError("the log has no episodes")
    survey.check(behaviour)
    if not any(part.steps for part in log.held_out):
        if survey.episodes >= HELD_OUT:
            raise DataError(
                f"the held-out episodes (one in {HELD_OUT}) have no steps: remove episodes without "
                "steps from the log"
            )
        read = f"read {counted(survey.episodes, 'episode')}"
        raise DataError(f"{read}, expected at least {HELD_OUT}: one in {HELD_OUT} is held out")
    return survey


def _psr_enough(log: PreparedLog, behaviour: str, seed: int) -> Enough | None:
    """The rank test on data, or None where the log is too short for it."""
    try:
        return psr_enough(log, behaviour=behaviour, seed=seed)
    except TooShort:
        return None
