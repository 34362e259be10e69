"""Learn a model from a log by an estimator's name, with diagnostics and an optional plan."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from concurrent.futures import Executor
from copy import copy
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from rpsr.errors import DataError
from rpsr.learning.base import Estimator, Family
from rpsr.learning.diagnostics import Diagnosis
from rpsr.learning.findings import Findings
from rpsr.learning.last_k import LastKTable
from rpsr.learning.moments.survey import Survey
from rpsr.learning.plan_choice.choice import OFF_POLICY_STEPS, Choice, bootstrap, choose, precise
from rpsr.learning.prepared_log import Logs, PreparedLog
from rpsr.learning.promises.promise import blind_to_rewards, check_level
from rpsr.learning.promises.reasons import Reason, reasons
from rpsr.learning.promises.record import LEVEL, Promise
from rpsr.learning.promises.safe import SafeChoice, safe_choice
from rpsr.learning.propensities import Overlap
from rpsr.learning.spectral.enough import Enough, TooShort, psr_enough
from rpsr.live import live_line
from rpsr.logs.census import Census
from rpsr.logs.parts import HELD_OUT
from rpsr.models.linear import LinearModel
from rpsr.models.store import save_native
from rpsr.planning.convergence import NEAR_ONE
from rpsr.planning.planners import solve
from rpsr.planning.solution import Solution
from rpsr.planning.value.policies import AlphaPolicy
from rpsr.registry import Registry
from rpsr.showing import Shown, counted

ESTIMATORS = Registry(
    "estimator",
    "rpsr.estimators",
    {
        "em": "rpsr.learning.em.estimator:EMRPSR",
        "spectral": "rpsr.learning.spectral.estimators:SpectralRPSR",
        "discovered": "rpsr.learning.spectral.discovery:DiscoveredRPSR",
        "psr": "rpsr.learning.spectral.estimators:SpectralPSR",
        "last-k": "rpsr.learning.last_k:LastKTable",
    },
)


FAMILIES, REFITS = 2, 2  # of a fit: explanations of the log, and models of resampled logs for each
TABLE_STEPS = 50_000  # of a log, for the table that is compared with a plan
ON_COMMAND_LINE = ("rank", "behaviour", "device", "time_limit")  # options of `rpsr learn`


@dataclass(frozen=True, eq=False, repr=False)
class Learned(Shown):
    """A model learned from a log, with diagnostics.

    name: of the estimator; estimator: the fitted estimator. model: the model to plan on. findings:
    the estimator's own results. episodes, steps: of the log. census: its names and range of
    rewards. heldout: the accuracy of predictions on held-out episodes. psr_enough: whether a PSR
    would be enough, or None if the log is too short to test it. choice: the chosen plan and its
    alternatives, or None without planning. safe: that plan, a table's and the behaviour policy with
    their promises, of which the one with the highest lower bound is followed; None likewise.
    reasons: why that policy may fail, with advice.
    """

    name: str
    estimator: Estimator
    model: LinearModel
    findings: Findings
    episodes: int
    steps: int
    census: Census
    heldout: Diagnosis
    overlap: Overlap
    psr_enough: Enough | None
    choice: Choice | None
    safe: SafeChoice | None
    reasons: tuple[Reason, ...]
    seconds: float

    def title(self) -> str:
        """A description in one line."""
        steps = f"{counted(self.episodes, 'episode')}, {counted(self.steps, 'step')}"
        return f"{self.model.kind} model learned by {self.name} from {steps}"

    def facts(self) -> list[tuple[str, str]]:
        """The model's size and its accuracy on held-out episodes."""
        heldout, enough = self.heldout, self.psr_enough
        facts = [
            ("dimension", str(self.model.dimension)),
            ("held-out log-likelihood", f"{heldout.loglik:.6g} per step"),
        ]
        if heldout.reward_rmse is not None:
            error = f"{heldout.reward_rmse:.4g}, of the mean reward {heldout.reward_std:.4g}"
            facts.append(("held-out reward error", error))
        facts.append(("PSR enough", "not tested" if enough is None else enough.verdict))
        if self.choice is not None:
            facts.append(("plan", self.policy().title()))
        if self.safe is not None:
            facts.append(("promise", self.safe.chosen.promise.words(self.census.digits)))
        facts.append(("seconds", f"{self.seconds:.3g}"))
        return facts

    def policy(self) -> AlphaPolicy:
        """The policy of the chosen plan; a `DataError` if `learn` had no plan=True."""
        plan = self.plan
        return plan.value_function.policy(plan.model)

    @property
    def plan(self) -> Solution:
        """The chosen plan; a `DataError` if `learn` had no plan=True."""
        if self.safe is None:
            raise DataError("no plan was made; call learn with plan=True")
        return self.safe.solution

    @property
    def promise(self) -> Promise | None:
        """What the chosen policy will earn on the true system; None without a plan."""
        return None if self.safe is None else self.safe.chosen.promise

    def save(self, path: str | Path) -> None:
        """Write the model to a native file, completely or not at all."""
        save_native(self.model, path)

    def report(self, path: str | Path, source: str = "a log") -> None:
        """Write a page (HTML) with tables and plots; source: the name of the log, for its title."""
        from rpsr.report.learning_page import learning_page
        from rpsr.report.page import write_page

        write_page(learning_page(self, source), Path(path))

    def warnings(self) -> list[str]:
        """Warnings about the log and the model, one per line."""
        lines = [self.census.unmarked_ends, *self.census.slips(), self.overlap.warning]
        lines.append(self.findings.caution.warning)
        if self.choice is not None:
            lines.insert(0, self.choice.chosen.doubt)
        if self.safe is not None:
            lines.insert(1, self.safe.warning(self.census.digits))
        lines += [f"{reason.words}: {reason.advice}" for reason in self.reasons]
        if self.psr_enough is None:
            lines.insert(0, "the log is too short to test whether a PSR is enough")
        if self.findings.spectrum is not None:
            lines.append(self.findings.spectrum.warning)
        if self.heldout.resets:
            times, steps = counted(self.heldout.resets, "time"), counted(self.heldout.steps, "step")
            lines.append(
                f"the filter restarted {times} in {steps} of held-out episodes, after observations "
                "that the model holds impossible"
            )
        return [line for line in lines if line]

    def document(self) -> dict[str, Any]:
        """The results as plain JSON values; None where an estimator has no such result."""
        found, heldout, choice = self.findings.document(), self.heldout, self.choice
        return {
            "estimator": self.name,
            "episodes": self.episodes,
            "steps": self.steps,
            "terminated": self.census.ended,
            "discount": self.model.discount,
            **found,
            "heldout": {
                "loglik": heldout.loglik,
                "reward_rmse": heldout.reward_rmse,
                "reward_std": heldout.reward_std,
                "steps": heldout.steps,
            },
            "psr_enough": None if self.psr_enough is None else self.psr_enough.document(),
            "overlap": asdict(self.overlap),
            "negative_mass": heldout.negative_mass,
            "resets": heldout.resets,
            "choice": None if choice is None else {"rule": choice.rule, "options": choice.rows()},
            "promise": None if self.promise is None else self.promise.document(),
            "promises": [] if self.safe is None else self.safe.rows(),
            "reasons": [reason.document() for reason in self.reasons],
            "warnings": self.warnings(),
            "seconds": self.seconds,
        }


def streams(name: str) -> bool:
    """Whether an estimator, by its name, reads a log as a stream, not into memory."""
    return ESTIMATORS.get(name).streams


def estimator_options(name: str) -> tuple[str, ...]:
    """The parameters that an estimator has, by its name."""
    return tuple(field.name for field in fields(ESTIMATORS.get(name)) if field.init)


def estimator_by_name(name: str, /, **options: Any) -> Estimator:
    """An estimator by its name, with parameters; None leaves a parameter at its default.

    rank: the parameter of that name or, where an estimator has another for the size of its model
    (`em`: states, `last-k`: k), that one. A parameter that the estimator does not have is a
    `DataError`.
    """
    kind, known = ESTIMATORS.get(name), estimator_options(name)
    given = {key: value for key, value in options.items() if value is not None}
    if "rank" in given and "rank" not in known and kind.rank_parameter in known:
        if kind.rank_parameter in given:
            raise DataError(f"read rank and {kind.rank_parameter}, which mean the same")
        given[kind.rank_parameter] = given.pop("rank")
    for option in given:
        if option not in known:
            flag = f" (--{option.replace('_', '-')})" if option in ON_COMMAND_LINE else ""
            raise DataError(
                f"estimator {name} has no parameter {option!r}{flag}; its parameters are "
                f"{', '.join(known)}"
            )
    return kind(**given)


def configured(
    name: str,
    /,
    *,
    discount: float | None,
    plan: bool = False,
    seed: int = 0,
    **options: Any,
) -> Estimator:
    """The estimator that `learn` would fit; a `DataError` for wrong arguments, before any log.

    discount and seed are parameters of the estimator if it has them.
    """
    if plan and (discount is None or discount > 1 - NEAR_ONE):
        raise DataError(f"discount: read {discount}, expected one below 1 to plan with")
    common = {"discount": discount, "seed": seed}
    common = {key: common[key] for key in common if key in estimator_options(name)}
    made = estimator_by_name(name, **common, **options)
    made.check()
    return made


# The arguments are the options of `rpsr learn`.
def learn(
    name: str,
    logs: Logs,
    /,
    *,
    discount: float | None,
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
    plan: whether to plan on all models that explain the log about equally well, and on those of
    `ensemble` resampled logs, to choose one plan by its value in all of them, and to compare its
    promise with that of a table and of the behaviour policy. level: of promises. seed: random seed.
    progress: called with the current work; True shows it, in a notebook or on a terminal. executor:
    works on parts of a large log, resampled logs and plans, see `rpsr.parallel`. options:
    parameters of the estimator, as in `estimator_by_name`.
    """
    if progress is True:
        with live_line("learning") as say:
            return learn(
                name,
                logs,
                discount=discount,
                plan=plan,
                ensemble=ensemble,
                level=level,
                seed=seed,
                progress=say,
                executor=executor,
                **options,
            )
    progress = progress or None
    began = time.perf_counter()
    asked: dict[str, Any] = {"discount": discount, "plan": plan, "seed": seed, **options}
    configured(name, **asked)  # before a large log is read
    check_level(level)
    log = PreparedLog.of(logs, held=not streams(name), executor=executor)
    survey = _surveyed(log, options.get("behaviour"), progress)

    def recipe(prefix: str) -> Estimator:
        made = configured(name, **asked)
        if progress is not None and "progress" in estimator_options(name):
            made.set_params(progress=lambda what: progress(f"{prefix}{what}"))  # pyright: ignore
        return made

    estimator = recipe("").fit(log)
    choice = safe = None
    why: tuple[Reason, ...] = ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the first fit has said it
        trained = recipe("held-out evaluation: ").fit(log.training)
        heldout = trained.judge(log.held_out)
        enough = _psr_enough(log, _behaviour(estimator, survey), seed)
        if plan:
            again = recipe("resampled log: ")
            models = estimator.models()
            how: dict[str, Any] = {"seed": seed, "progress": progress, "executor": executor}
            models += bootstrap(again, log, repeats=ensemble, **how)
            choice = choose(models, log, **how)
            if progress is not None:
                progress("promises")
            again = _families(trained, log.training, seed)
            part = log.beginning(OFF_POLICY_STEPS)
            table = None if name == "last-k" else _table_plan(part, discount, seed)
            safe = safe_choice(
                choice,
                part,
                _families(estimator, log, seed) + again,
                table=table,
                distrust=blind_to_rewards(estimator, enough),
                level=level,
                seed=seed,
            )
            rest = log.held_out.beginning(OFF_POLICY_STEPS).in_memory
            why = reasons(safe, trained, heldout, rest, again, estimator.findings().at_largest)
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


def _families(estimator: Estimator, log: PreparedLog, seed: int) -> list[Family]:
    """Models to value a policy in, from the log that the estimator was fitted to."""
    if "progress" in estimator.get_params(deep=False):
        estimator = copy(estimator).set_params(progress=None)
    return estimator.families(log, FAMILIES, REFITS, seed)


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
