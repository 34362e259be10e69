"""The paper's 48 estimates, each beside ours, the exact value, and a verdict with its reason."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from rpsr.evaluation import Estimate
from rpsr.reproduce import paper
from rpsr.reproduce.returns import Returns
from rpsr.reproduce.verdicts import Judgement, Verdict, judge, rounds_to

SAME = 1e-6  # two exact values this close are one; policies were proven to 1e-8


@dataclass(frozen=True)
class JudgedCell:
    """A cell of the paper's table of returns.

    low, high: what all optimal policies of the model earn, at least and at most; one number where
    there is no choice. one_step_less: what is earned over the steps that the authors' program
    takes, where that and not the full number explains what is printed; else None.
    """

    domain: str
    row: str
    policy: str
    printed: paper.Cell
    estimate: Estimate
    low: float
    high: float
    judgement: Judgement
    one_step_less: float | None = None

    @property
    def several(self) -> bool:
        """Whether optimal policies differ in what they earn here."""
        return self.high - self.low > SAME


def judged_cells(results: dict[str, Returns]) -> Iterator[JudgedCell]:
    """Every printed cell of the domains that there are results for, in the paper's order."""
    for domain, rows in paper.RESULTS.items():
        if domain not in results:
            continue
        for row, cells in rows.items():
            for policy, printed in cells.items():
                yield _judged(results[domain], domain, row, policy, printed)


def earned_by_all(found: Returns, policy: str, row: str) -> tuple[float, float]:
    """What the optimal policies of a model earn at least and at most, by a row of rewards.

    Over 100 steps where all earn the same; where PSR-optimal policies differ, over all steps, with
    ours over 100 among them. Where no exact value is known, the mean.
    """
    estimate = found.experiment.estimate(policy, row)
    value = estimate.mean if estimate.exact is None else estimate.exact
    between = found.experiment.psr_range
    if (policy, row) != ("psr-vi", "pomdp") or between is None:
        return value, value
    low, high = between.least[0], between.greatest[1]
    return (min(low, value), max(high, value)) if high - low > SAME else (value, value)


def _judged(found: Returns, domain: str, row: str, policy: str, printed: paper.Cell) -> JudgedCell:
    estimate = found.experiment.estimate(policy, row)
    low, high = earned_by_all(found, policy, row)
    noise = (estimate.stderr or 0.0) if estimate.exact is None else 0.0
    judgement = judge(printed, low, high, stderr=noise)
    cell = JudgedCell(domain, row, policy, printed, estimate, low, high, judgement)
    program = found.program.get(policy, {}).get(row)
    off = judgement.distance > 0 and low == high
    if off and program is not None and judge(printed, program, program).distance == 0:
        cell = replace(cell, one_step_less=program)
    if judgement.verdict is Verdict.AGREES and _to_the_digit(printed, low, high):
        return cell
    return replace(cell, judgement=replace(judgement, reason=_reason(cell)))


def _to_the_digit(printed: paper.Cell, low: float, high: float) -> bool:
    nearest = min(max(float(printed.mean), low), high)
    return rounds_to(nearest, printed.mean) and not printed.mean.startswith("-0.0")


def _reason(cell: JudgedCell) -> str:
    """Why the printed digits are not those of the exact value, in one line."""
    judgement = cell.judgement
    if cell.printed.mean.startswith("-0.0") and max(abs(cell.low), abs(cell.high)) < SAME:
        return "exactly 0: the sign is that of a rounding error"
    if cell.one_step_less is not None:
        steps = paper.STEPS_OF_THE_PROGRAM
        return f"{cell.one_step_less:.4f} after the {steps} steps that the authors' program takes"
    if judgement.verdict is Verdict.AGREES:
        return f"noise of {paper.EPISODES:,} episodes"
    if judgement.verdict is Verdict.CHANCE:
        often = 1 / math.erfc(judgement.distance / math.sqrt(2))
        sure = "every PSR-optimal policy earns this" if cell.policy == "psr-vi" else "exactly known"
        known = f"; {sure}" if cell.estimate.exact is not None and not cell.several else ""
        return f"noise, if unlucky: one estimate in {often:.0f} is as far off{known}"
    return judgement.reason


def best_policies(found: Returns, row: str) -> tuple[str, ...]:
    """The policies that earn most by a row of rewards: those to be printed in bold.

    Where only estimates are known, those within a standard error of the best.
    """
    estimates = [found.experiment.estimate(policy, row) for policy in paper.POLICIES]
    values = [each.mean if each.exact is None else each.exact for each in estimates]
    most = max(values)
    best = estimates[values.index(most)]
    noise = (best.stderr or 0.0) if best.exact is None else 0.0
    near = max(noise, SAME * max(1.0, abs(most)))
    chosen = zip(paper.POLICIES, values, strict=True)
    return tuple(policy for policy, value in chosen if value >= most - near)
