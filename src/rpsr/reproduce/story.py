"""The text of the report: the question, the paper's claim, and our findings."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from rpsr.reproduce import paper
from rpsr.reproduce.cells import SAME
from rpsr.reproduce.claim import Claim
from rpsr.reproduce.claims import claims
from rpsr.reproduce.one_domain import Plan
from rpsr.reproduce.run import Reproduction
from rpsr.reproduce.verdicts import Verdict

TITLE = "Do predictive states determine rewards?"

QUESTION = """\
**The question.** A *predictive state representation* (PSR) models a partially observable system
without hidden states: its state is a vector of probabilities of future observations. This is enough
to predict observations. Is it enough to choose actions?"""

CLAIM = """\
**What the paper claims.** Not always, say Baisero and Amato (*Reconciling Rewards with Predictive
State Representations*, IJCAI 2021). In 8 of 63 classic problems the state of the PSR does not
determine the rewards, and a policy that is optimal for the closest rewards may be useless. The
state of a *reward-predictive* state representation (R-PSR) predicts rewards, too, and a policy that
is optimal for it is optimal for the POMDP."""


@dataclass(frozen=True)
class Findings:
    """All verdicts of a reproduction."""

    all_: Reproduction

    @cached_property
    def claims(self) -> list[Claim]:
        """The paper's sentences."""
        return list(claims(self.all_))

    @property
    def confirmed(self) -> bool:
        """Whether the paper's main claim holds: PSRs lose rewards, R-PSRs do not."""
        results = [result.experiment for result in self.all_.returns.values() if result.certified]
        lost = all(not row["accurate"] for row in self.all_.errors.values())
        kept = all(row["rpsr_d_inf"] < 1e-10 for row in self.all_.errors.values())
        same = all(result.same_episodes and result.disagreement < 1e-9 for result in results)
        return lost and kept and same

    def paragraph(self) -> str:
        """Our findings, in one paragraph."""
        head = "Confirmed, with corrections." if self.confirmed else "Not confirmed."
        errors, returns, claims = self.about_errors(), self.about_cells(), self.about_claims()
        return (
            f"**What we find.** {head} Of the paper's reward errors, {errors}; of its returns, "
            f"{returns}; of its statements, {claims}."
        )

    def about_errors(self) -> str:
        """How many of the paper's reward errors are right."""
        right, printed = self.all_.count_right_errors, 2 * len(paper.ERRORS)
        return f"{right} of {printed} are right to the last digit"

    def about_cells(self) -> str:
        """How many of the paper's returns agree."""
        counts = Counter(cell.judgement.verdict for cell in self.all_.cells)
        apart = [cell for cell in self.all_.cells if cell.judgement.verdict is Verdict.DIFFERS]
        why = ""
        if apart and all(cell.one_step_less is not None for cell in apart):
            why = " in the last digit, because the authors' program stops one step early"
        return (
            f"{counts[Verdict.AGREES]} of {len(self.all_.cells)} agree, "
            f"{counts[Verdict.CHANCE]} barely, and {counts[Verdict.DIFFERS]} differ{why}"
        )

    def about_claims(self) -> str:
        """How many of the paper's statements hold."""
        counts = Counter(claim.verdict for claim in self.claims)
        unchecked = counts[Verdict.OPEN]
        return (
            f"{counts[Verdict.AGREES]} of {len(self.claims)} hold, "
            f"{counts[Verdict.QUALIFIED]} hold with a qualification, {counts[Verdict.DIFFERS]} not"
            + (f", and {unchecked} were not checked" if unchecked else "")
        )


def quick_note(all_: Reproduction) -> str:
    """The parts that `--quick` leaves out, or an empty text."""
    missing = all_.settings.left_out
    if not missing:
        return ""
    return (
        f"**A quick look.** Left out: {'; '.join(missing)}. Run without `--quick` for everything."
    )


def lead(findings: Findings) -> str:
    """The opening of a page, below its verdict, as paragraphs of Markdown."""
    parts = [QUESTION, CLAIM, quick_note(findings.all_)]
    return "\n\n".join(part for part in parts if part)


CASE = """\
A cart drives along a road of five cells. An empty cart is loaded at the left end (cell 0), and a
loaded one is unloaded at the right end (cell 4). Each pays 1. The cart observes the kind of its
cell, but not whether it is loaded. Five tests predict all observations, and none depends on the
load: the PSR cannot distinguish states 0 and 1 (loaded and empty at the left end), nor 8 and 9. By
the PSR, both ends always pay one half. The optimal policy by these rewards drives to an end and
stays there,
which earns almost nothing."""

ERRORS = """\
A PSR's rewards are linear in its state. If the true rewards are not, the PSR has the closest ones
in least squares. The table shows their largest error. The error of an R-PSR is zero."""

RETURNS = """\
Each policy acts in the POMDP. Rows POMDP/R-PSR show returns by the true rewards (both models agree
on them), rows PSR show returns by the PSR's rewards. PSR-VI is optimal by the PSR's rewards, and
mostly bad by the true ones."""

PLANS = """\
The optimum is proven to lie between the two bounds. An agent that observes its rewards (RA-PSR) has
another problem;"""


def plans_text(all_: Reproduction) -> str:
    """The text on optimal values, and on whether observed rewards change them."""
    changed = [
        paper.DOMAINS[name]
        for name, returns in all_.returns.items()
        if returns.reward_aware is not None
        and _apart(returns.experiment.plans[0], returns.reward_aware[1])
    ]
    if not changed:
        return f"{PLANS} on the domains where it was run, this does not change the optimum."
    return f"{PLANS} this changes the optimum on {', '.join(changed)}."


def _apart(one: Plan, other: Plan) -> bool:
    """Whether the bounds of two optima exclude that they are the same."""
    return any(
        upper.upper is not None and lower.lower > upper.upper + SAME
        for lower, upper in ((one, other), (other, one))
    )


CONVERGENCE = """\
Value iteration as in the paper, with exact pruning: the change of the value function per iteration,
at the corners of the domain and at reachable states. The curves of POMDP and R-PSR coincide; the
PSR's converges to the value of another task."""

STEPPER = """\
Choose an action and then its observation, and compare the three models. In load/unload, go to an
end and stay: the PSR continues to expect a reward of one half at every step."""
