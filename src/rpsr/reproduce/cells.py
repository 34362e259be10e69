"""The paper's 48 estimates, each beside ours, the exact value, and a verdict with its reason."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from rpsr.evaluation import Estimate
from rpsr.reproduce import paper
from rpsr.reproduce.returns import Returns
from rpsr.reproduce.verdicts import Judgement, Verdict, judge, rounds_to

SAME = 1e-6  # exact values this close count as equal; policies were proven to 1e-8


@dataclass(frozen=True)
class JudgedCell:
    """A cell of the paper's table of returns.

    low, high: the least and greatest return of all optimal policies of the model; equal if all earn
    the same. one_step_less: the return over the steps that the authors' program takes, if this
    explains the printed number and the full return does not; else None.
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
        """Whether policies that are optimal for the model have different returns in this cell."""
        return self.high - self.low > SAME


def judged_errors(rows: dict[str, dict[str, Any]]) -> dict[str, tuple[bool, bool]]:
    """Of each domain, whether the paper's absolute and relative reward errors are right.

    rows: of `rpsr.predictive.survey`, by domain. A number is right if it is ours to its last digit.
    """
    return {
        name: (rounds_to(row["d_inf"], absolute), rounds_to(row["rel_d_inf"], relative))
        for name, row in rows.items()
        for absolute, relative in [paper.ERRORS[name]]
    }


def judged_cells(results: dict[str, Returns]) -> Iterator[JudgedCell]:
    """Every printed cell of the domains with results, in the paper's order."""
    for domain, rows in paper.RESULTS.items():
        if domain not in results:
            continue
        for row, cells in rows.items():
            for policy, printed in cells.items():
                yield _judged(results[domain], domain, row, policy, printed)


def earned_by_all(returns: Returns, policy: str, row: str) -> tuple[float, float]:
    """The least and greatest return of the optimal policies of a model, by a row of rewards.

    Over 100 steps if all earn the same. If PSR-optimal policies differ: over an infinite horizon,
    extended to include ours over 100 steps. The mean if no exact value is known.
    """
    estimate = returns.experiment.estimate(policy, row)
    value = estimate.mean if estimate.exact is None else estimate.exact
    between = returns.experiment.psr_range
    if (policy, row) != ("psr-vi", "pomdp") or between is None:
        return value, value
    low, high = between.least[0], between.greatest[1]
    return (min(low, value), max(high, value)) if high - low > SAME else (value, value)


def _judged(
    returns: Returns, domain: str, row: str, policy: str, printed: paper.Cell
) -> JudgedCell:
    estimate = returns.experiment.estimate(policy, row)
    low, high = earned_by_all(returns, policy, row)
    noise = (estimate.stderr or 0.0) if estimate.exact is None else 0.0
    judgement = judge(printed, low, high, stderr=noise)
    cell = JudgedCell(domain, row, policy, printed, estimate, low, high, judgement)
    program = returns.program.get(policy, {}).get(row)
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
    """Why the printed digits differ from the exact value, in one line."""
    judgement = cell.judgement
    if cell.printed.mean.startswith("-0.0") and max(abs(cell.low), abs(cell.high)) < SAME:
        return "exactly 0: the minus sign is a rounding error"
    if cell.one_step_less is not None:
        steps = paper.STEPS_OF_THE_PROGRAM
        return f"{cell.one_step_less:.4f} after the {steps} steps that the authors' program takes"
    if judgement.verdict is Verdict.AGREES:
        return f"sampling noise of {paper.EPISODES:,} episodes"
    if judgement.verdict is Verdict.CHANCE:
        often = 1 / math.erfc(judgement.distance / math.sqrt(2))
        sure = "every PSR-optimal policy earns this" if cell.policy == "psr-vi" else "known exactly"
        known = (
            f"; our value: {sure}" if cell.estimate.exact is not None and not cell.several else ""
        )
        return f"possibly sampling noise: one estimate in {often:.0f} is this far off{known}"
    return judgement.reason


def best_policies(returns: Returns, row: str) -> tuple[str, ...]:
    """The policies with the highest return by a row of rewards, to be printed in bold.

    If only estimates are known: those within a standard error of the best.
    """
    estimates = [returns.experiment.estimate(policy, row) for policy in paper.POLICIES]
    values = [e.mean if e.exact is None else e.exact for e in estimates]
    most = max(values)
    best = estimates[values.index(most)]
    noise = (best.stderr or 0.0) if best.exact is None else 0.0
    near = max(noise, SAME * max(1.0, abs(most)))
    chosen = zip(paper.POLICIES, values, strict=True)
    return tuple(policy for policy, value in chosen if value >= most - near)
