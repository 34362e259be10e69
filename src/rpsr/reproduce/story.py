"""What a reader is told first: the question, what the paper claims, and what we find."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from rpsr.reproduce import paper
from rpsr.reproduce.cells import SAME
from rpsr.reproduce.claim import Claim
from rpsr.reproduce.claims import claims
from rpsr.reproduce.experiment import Plan
from rpsr.reproduce.run import Reproduction
from rpsr.reproduce.verdicts import Verdict, rounds_to

TITLE = "Do predictive states know what things are worth?"

QUESTION = """\
**The question.** A *predictive state representation* (PSR) describes a world that is only partly
seen without hidden states: its state is a list of how likely the next observations are. That is
enough to foresee what will be seen. Is it enough to know what to do?"""

CLAIM = """\
**What the paper claims.** Not always, say Baisero and Amato (*Reconciling Rewards with Predictive
State Representations*, IJCAI 2021). A PSR can forget what things are worth: in 8 of 63 classic
problems its state does not give the rewards back, and a plan made with the closest rewards that it
can carry may be useless. A *reward-predictive* one (R-PSR), which foresees rewards along with
observations, forgets nothing, and planning with it is as good as planning with the hidden states
themselves (the POMDP)."""


@dataclass(frozen=True)
class Findings:
    """All verdicts on a reproduction."""

    all_: Reproduction

    @cached_property
    def claims(self) -> list[Claim]:
        """The paper's sentences."""
        return list(claims(self.all_))

    @property
    def confirmed(self) -> bool:
        """Whether what the paper is about holds: PSRs lose rewards, R-PSRs do not."""
        found = [result.experiment for result in self.all_.returns.values() if result.certified]
        lost = all(not row["accurate"] for row in self.all_.errors.values())
        kept = all(row["rpsr_d_inf"] < 1e-10 for row in self.all_.errors.values())
        same = all(each.same_episodes and each.disagreement < 1e-9 for each in found)
        return lost and kept and same

    def paragraph(self) -> str:
        """What we find, in one paragraph."""
        errors, right = self.all_.errors, 0
        for name, pair in paper.ERRORS.items():
            right += rounds_to(errors[name]["d_inf"], pair[0])
            right += rounds_to(errors[name]["rel_d_inf"], pair[1])
        head = "Confirmed, with corrections." if self.confirmed else "Not confirmed."
        parts = [
            f"{right} of the paper's {2 * len(paper.ERRORS)} reward errors come out to the last "
            "digit",
            self._about_cells(),
            self._about_claims(),
        ]
        return f"**What we find.** {head} {'; '.join(parts)}."

    def _about_cells(self) -> str:
        found = Counter(cell.judgement.verdict for cell in self.all_.cells)
        apart = [cell for cell in self.all_.cells if cell.judgement.verdict is Verdict.DIFFERS]
        why = ""
        if apart and all(cell.one_step_less is not None for cell in apart):
            why = " in the last digit, because the authors' program stops one step early"
        return (
            f"of its {len(self.all_.cells)} returns {found[Verdict.AGREES]} agree, "
            f"{found[Verdict.CHANCE]} barely, and {found[Verdict.DIFFERS]} differ{why}"
        )

    def _about_claims(self) -> str:
        found = Counter(claim.verdict for claim in self.claims)
        unchecked = found[Verdict.OPEN]
        return (
            f"of its {len(self.claims)} statements {found[Verdict.AGREES]} hold as they stand, "
            f"{found[Verdict.QUALIFIED]} with a qualification, {found[Verdict.DIFFERS]} not"
            + (f", and {unchecked} were not checked" if unchecked else "")
        )


def quick_note(all_: Reproduction) -> str:
    """What a quick look left out, or nothing."""
    missing = all_.settings.left_out
    if not missing:
        return ""
    return f"**A quick look.** Left out: {'; '.join(missing)}. Run without `--quick` for all of it."


def lead(findings: Findings) -> str:
    """The opening, as paragraphs of Markdown."""
    parts = [QUESTION, CLAIM, findings.paragraph(), quick_note(findings.all_)]
    return "\n\n".join(part for part in parts if part)


CASE = """\
A cart drives along a road of five cells. At the left end (cell 0) an empty cart is loaded, at the
right end (cell 4) a loaded one is unloaded, and each pays 1. The cart sees which kind of cell it is
on, not whether it is loaded. Five tests predict all that it can ever see, and none of them depends
on the load: to the PSR, states 0 and 1 (loaded and empty at the left end) are one, and so are 8 and
9. It therefore takes the reward of each end for one half, always, and the best plan it can make is
to drive to an end and stay there, which earns next to nothing."""

ERRORS = """\
A PSR's rewards are linear in its state. Where the true ones are not, the closest in least squares
are taken, and the table shows how far off these are at worst. An R-PSR is never off."""

RETURNS = """\
Each policy acts in the true world. Rows called POMDP/R-PSR count the rewards that it really earns
(both models agree on them); rows called PSR count what the PSR believes that it earns. PSR-VI is
the best plan by the PSR's belief, and mostly a bad one in truth."""

PLANS = """\
Planning proves how good it is: the optimum lies between the two bounds. Showing the agent its
rewards (RA-PSR) changes the problem;"""


def plans_text(all_: Reproduction) -> str:
    """What the optima are, and whether showing rewards changes them."""
    changed = [
        paper.DOMAINS[name]
        for name, found in all_.returns.items()
        if found.reward_aware is not None
        and _apart(found.experiment.plans[0], found.reward_aware[1])
    ]
    if not changed:
        return f"{PLANS} where it was tried, it does not change the optimum."
    return f"{PLANS} it changes the optimum on {', '.join(changed)}."


def _apart(one: Plan, other: Plan) -> bool:
    """Whether the bounds of two optima exclude that they are the same."""
    return any(
        upper.upper is not None and lower.lower > upper.upper + SAME
        for lower, upper in ((one, other), (other, one))
    )


CONVERGENCE = """\
Value iteration as in the paper, with exact pruning: how much the value function changes from one
iteration to the next, at the corners of the domain and at states that can be reached. The curves of
POMDP and R-PSR lie on each other; the PSR's converges to the value of another task."""

STEPPER = """\
Choose an action and then what is seen, and watch the three models side by side. In load/unload, go
to an end and stay: the PSR goes on expecting one half at every step."""
