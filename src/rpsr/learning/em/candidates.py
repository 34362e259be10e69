"""Which of many fitted POMDPs to keep: held-out episodes say, by the rule of one standard error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rpsr.io.records import Floats
from rpsr.learning.caution import Caution
from rpsr.learning.em.steps import FittedPOMDP
from rpsr.learning.findings import FittedSize
from rpsr.models.pomdp import POMDP

SAME = 1e-3  # scores of one size that differ by less, in their deviations, are of one POMDP


@dataclass(frozen=True, eq=False)
class Found:
    """A fitted POMDP and the log-likelihoods (N,) of episodes."""

    scores: Floats
    fitted: FittedPOMDP

    @property
    def mean(self) -> float:
        """The log-likelihood of an episode."""
        return float(self.scores.mean())

    def same_as(self, other: Found) -> bool:
        """Whether both are one POMDP, as far as its size and its scores tell."""
        apart = abs(self.mean - other.mean)
        return self.fitted.size == other.fitted.size and apart <= SAME * float(self.scores.std())


@dataclass(frozen=True, eq=False)
class Candidate:
    """One fitted POMDP and what held-out episodes said of it before it saw them.

    cautious: the POMDP to plan on, with low rewards for what the log hardly shows; caution: which
    actions in which states that is. states: how many there are, the end left out. loglik: held-out
    log-likelihood of observations and rewards, per episode, continuous rewards in bins; behind: by
    how much that is below the best, and stderr: the standard error of this difference.
    """

    fitted: FittedPOMDP
    cautious: POMDP
    caution: Caution
    states: int
    loglik: float
    behind: float
    stderr: float

    @property
    def summary(self) -> FittedSize:
        """The candidate without its parameters."""
        return FittedSize(self.states, self.loglik, self.behind)


def difference(best: Floats, scores: Floats) -> tuple[float, float]:
    """By how much scores (N,) are behind on average, and its standard error.

    That is at least a nat in all: where nothing is left to chance, rounding would else decide.
    """
    behind = best - scores
    return float(behind.mean()), max(float(behind.std() / np.sqrt(len(behind))), 1 / len(behind))


def chosen(found: list[Found], keep: int) -> list[Found]:
    """Those within one standard error of the best, at most so many, the fewest states first.

    Different ways often end in the same POMDP; it is chosen once.
    """
    best = max(found, key=lambda each: each.mean)
    behind = [difference(best.scores, each.scores) for each in found]
    near = [each for each, (by, stderr) in zip(found, behind, strict=True) if by <= stderr]
    return distinct(sorted(near, key=lambda each: (each.fitted.size, -each.mean)))[:keep]


def distinct(found: list[Found]) -> list[Found]:
    """The same without those that are one with an earlier."""
    kept: list[Found] = []
    for each in found:
        if not any(each.same_as(other) for other in kept):
            kept.append(each)
    return kept
