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
from rpsr.learning.base import Estimator
from rpsr.learning.diagnostics import Diagnosis
from rpsr.learning.estimator_names import configured, estimator_options, streams
from rpsr.learning.last_k import LastKTable
from rpsr.learning.learned import Learned
from rpsr.learning.moments.survey import Survey
from rpsr.learning.plan_choice.choice import OFF_POLICY_STEPS, Choice, bootstrap, choose, precise
from rpsr.learning.prepared_log import Logs, PreparedLog
from rpsr.learning.promises.promise import blind_to_rewards, check_level
from rpsr.learning.promises.reasons import Reason, reasons
from rpsr.learning.promises.record import LEVEL
from rpsr.learning.promises.safe import SafeChoice, safe_choice
from rpsr.learning.spectral.enough import Enough, TooShort, psr_enough
from rpsr.live import live_line
from rpsr.logs.parts import HELD_OUT
from rpsr.models.objectives import Objective
from rpsr.planning.planners import solve
from rpsr.planning.solution import Solution
from rpsr.showing import counted

FAMILIES, REFITS = 2, 2  # of a fit: explanations of the log, and models of resampled logs for each
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
        raise DataError("discount: an objective without a discount was given")
    discount = discount if objective is None else 1.0
    line = live_line("learning") if progress is True else nullcontext(progress or None)
    with line as say:
        began = time.perf_counter()
        asked = {"discount": discount, "plan": plan, "seed": seed, **options}
        run = _Run(name, asked, level, ensemble, say, executor)
        run.estimator()  # refuses wrong arguments before a large log is read
        check_level(level)
        log = PreparedLog.of(logs, held=not streams(name), executor=executor)
        if objective is not None:
            log = log.for_objective(objective)
        survey = _surveyed(log, options.get("behaviour"), say)
        estimator = run.estimator().fit(log)
        planned: _Planned = (None, None, ())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the first fit has said it
            trained = run.estimator("held-out evaluation: ").fit(log.training)
            heldout = trained.judge(log.held_out)
            enough = _psr_enough(log, _behaviour(estimator, survey), seed)
            if plan:
                planned = _plan(run, log, estimator, trained, heldout, enough)
        choice, safe, why = planned
        return Learned(
            name=name,
            estimator=estimator,
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
            reasons=why,
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
        if say is not None and "progress" in estimator_options(self.name):
            made.set_params(progress=lambda what: say(f"{stage}{what}"))  # pyright: ignore
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
    safe = safe_choice(
        choice,
        part,
        estimator.silent().families(log, FAMILIES, REFITS, seed) + families,
        table=None if run.name == "last-k" else _table_plan(part, run.asked["discount"], seed),
        distrust=blind_to_rewards(estimator, enough),
        level=run.level,
        seed=seed,
    )
    rest = log.held_out.beginning(OFF_POLICY_STEPS).in_memory
    most = estimator.findings().at_largest
    return choice, safe, reasons(safe, trained, heldout, rest, families, most)


def _table_plan(log: PreparedLog, discount: float | None, seed: int) -> Solution:
    """The plan on a table over the last k interactions of a log, or of its beginning."""
    table = LastKTable(discount=discount, seed=seed).fit(log.beginning(TABLE_STEPS))
    return solve(table.model_, precise(log, seed))


def _surveyed(
    log: PreparedLog, behaviour: str | None, progress: Callable[[str], None] | None
) -> Survey:
    """The survey of a log; a log that is too small or incomplete to learn from is an error."""
    survey = log.survey(progress=progress)
    if survey.episodes == 0:
        raise DataError("the log has no episodes")
    survey.check(behaviour)
    if not any(part.steps for part in log.held_out):
        if survey.episodes >= HELD_OUT:
            raise DataError(
                f"one episode in {HELD_OUT} is held out, and none of these has steps: leave out "
                "episodes without steps"
            )
        read = f"read {counted(survey.episodes, 'episode')}"
        raise DataError(f"{read}, expected at least {HELD_OUT}: one in {HELD_OUT} is held out")
    return survey


def _behaviour(estimator: Estimator, survey: Survey) -> str:
    """The source of propensities for the test of a PSR: the estimator's own, if it has one.

    An estimator that needs no propensities leaves the choice to the log: exact ones if it has them.
    """
    logged = "logged" if survey.has_propensities else "estimated"
    return estimator.get_params().get("behaviour", logged)


def _psr_enough(log: PreparedLog, behaviour: str, seed: int) -> Enough | None:
    """The rank test on data, or None where the log is too short for it."""
    try:
        return psr_enough(log, behaviour=behaviour, seed=seed)
    except TooShort:
        return None
