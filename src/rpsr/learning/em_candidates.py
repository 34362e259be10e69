"""Which of many fitted POMDPs to keep: held-out episodes say, by the rule of one standard error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rpsr.io.records import Floats
from rpsr.learning.em_steps import FittedPOMDP
from rpsr.models.pomdp import POMDP

SAME = 1e-3  # scores of one size that differ by less, in their deviations, are of one POMDP

Found = tuple[Floats, FittedPOMDP]  # a POMDP with the log-likelihoods (N,) of held-out episodes


@dataclass(frozen=True, eq=False)
class Candidate:
    """One fitted POMDP and what held-out episodes said of it before it saw them.

    cautious: the POMDP to plan on, with low rewards for what the log hardly shows. states: how many
    there are, the end left out. loglik: held-out log-likelihood of observations and rewards, per
    episode; behind: by how much that is below the best, and stderr how sure that is.
    """

    fitted: FittedPOMDP
    cautious: POMDP
    states: int
    loglik: float
    behind: float
    stderr: float


def difference(best: Floats, scores: Floats) -> tuple[float, float]:
    """By how much scores (N,) are behind on average, and its standard error."""
    behind = best - scores
    return float(behind.mean()), float(behind.std() / np.sqrt(len(behind)))


def chosen(found: list[Found], keep: int) -> list[tuple[FittedPOMDP, float, float, float]]:
    """Those within one standard error of the best by held-out scores, the fewest states first.

    Each with its mean score, by how much that is behind the best, and the standard error of that.
    Different ways often end in the same POMDP; it is chosen once.
    """
    best = max((scores for scores, _ in found), key=lambda each: float(each.mean()))
    rows = [(fitted, float(scores.mean()), *difference(best, scores)) for scores, fitted in found]
    near = sorted(
        (row for row in rows if row[2] <= row[3]), key=lambda row: (row[0].states, row[2])
    )
    apart = SAME * float(best.std())
    new = [
        row
        for before, row in zip([None, *near], near, strict=False)
        if before is None or before[0].states < row[0].states or row[2] - before[2] > apart
    ]
    return new[:keep]
