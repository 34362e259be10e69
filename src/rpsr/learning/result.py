"""The result of learning: a model, how far it can be trusted, and the plan made on it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rpsr.errors import DataError
from rpsr.learning.base import Estimator
from rpsr.learning.diagnostics import Diagnosis
from rpsr.learning.findings import Findings
from rpsr.learning.plan_choice.choice import Choice
from rpsr.learning.promises.promise import Promise
from rpsr.learning.promises.reason import Reason
from rpsr.learning.promises.safe import SafeChoice
from rpsr.learning.propensities import Overlap
from rpsr.learning.spectral.psr_verdict import Enough
from rpsr.logs.census import Census
from rpsr.models.linear import LinearModel
from rpsr.models.store import save_native
from rpsr.planning.solution import Solution
from rpsr.planning.value.policies import AlphaPolicy
from rpsr.showing import Shown, counted

NEGLIGIBLE = 1e-3  # the weight of later rewards, by the discount
TOO_SHORT = "the log is too short to test whether a PSR is enough"


@dataclass(frozen=True, eq=False, repr=False)
class Learned(Shown):
    """A model learned from a log, with diagnostics.

    name: of the estimator; estimator: the fitted estimator. model: the model to plan on. findings:
    the estimator's own results. episodes, steps: of the log. census: its names and range of
    rewards. heldout: the accuracy of predictions on held-out episodes. psr_enough: whether a PSR
    would be enough, or None if the log is too short to test it. choice: the chosen plan and its
    alternatives, or None without planning. safe: that plan, a table's and the behaviour policy with
    their promises, or None without planning; the table is followed if its lower bound is clearly
    higher. reasons: why the followed policy may fail, with advice; without a plan, only faults of
    the log.
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
            facts.append(("promise", self.promise_words))
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
        """The promise of the chosen policy; None without a plan."""
        return None if self.safe is None else self.safe.chosen.promise

    @property
    def promise_words(self) -> str:
        """The promise in a line; empty without a plan."""
        words = "" if self.promise is None else self.promise.words(self.census.digits)
        bounds = self.promise is not None and not self.promise.equal
        return "; ".join(filter(None, (words, self.continued if bounds else "")))

    @property
    def continued(self) -> str:
        """What is assumed about steps after logged episodes; empty if these hardly count."""
        logged, discount = self.census.mean_length, self.model.discount
        ahead = 1.0 if discount is None else discount**logged
        if not self.census.cut_off or ahead < NEGLIGIBLE:
            return ""
        mean = "1 step" if logged == 1 else f"{logged:.3g} steps"
        return f"assuming that tasks continue after the end of the logged episodes (mean: {mean})"

    @property
    def plan_doubt(self) -> str:
        """Why the model of the best plan is not believed, or empty; says if a table is followed."""
        doubt = "" if self.choice is None else self.choice.chosen.doubt
        if not doubt or self.safe is None or self.safe.index == 0:
            return doubt
        return f"{doubt} (this is about the best plan, not about the policy, {self.safe.which})"

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
        lines = [
            self.plan_doubt,
            "" if self.safe is None else self.safe.warning(self.census.digits),
            self.census.unmarked_ends,
            *self.census.slips(),
            self.overlap.warning,
            self.findings.caution.warning,
            *(f"{reason.words}: {reason.advice}" for reason in self.reasons),
        ]
        if self.findings.spectrum is not None:
            lines.append(self.findings.spectrum.warning)
        if self.heldout.resets:
            times, steps = counted(self.heldout.resets, "time"), counted(self.heldout.steps, "step")
            lines.append(
                f"the filter restarted {times} in {steps} of held-out episodes, after observations "
                "of probability 0 in the model: record more episodes, or try another --estimator"
            )
        if self.psr_enough is None:
            lines.append(TOO_SHORT)
        return [line for line in lines if line]

    def document(self) -> dict[str, Any]:
        """The results as plain JSON values; None where an estimator has no such result."""
        findings, heldout, choice = self.findings.document(), self.heldout, self.choice
        return {
            "estimator": self.name,
            "episodes": self.episodes,
            "steps": self.steps,
            "terminated": self.census.ended,
            "discount": self.model.discount,
            **findings,
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
            "policy_actions": None if self.safe is None else self.safe.chosen.shares or None,
            "promises": [] if self.safe is None else self.safe.rows(),
            "reasons": [reason.document() for reason in self.reasons],
            "warnings": self.warnings(),
            "seconds": self.seconds,
        }
