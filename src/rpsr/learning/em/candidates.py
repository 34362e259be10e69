"""The choice among fitted POMDPs, on held-out episodes, by the rule of one standard error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rpsr.io.records import Floats
from rpsr.learning.caution import Caution
from rpsr.learning.em.fitted_pomdp import FittedPOMDP
from rpsr.learning.findings import FittedSize
from rpsr.models.pomdp import POMDP

SAME = 1e-3  # in standard deviations: POMDPs of one size with closer mean scores count as equal


@dataclass(frozen=True, eq=False)
class Scored:
    """A fitted POMDP and the log-likelihoods (N,) of episodes."""

    scores: Floats
    fitted: FittedPOMDP

    @property
    def mean(self) -> float:
        """The log-likelihood of an episode."""
        return float(self.scores.mean())

    def same_as(self, other: Scored) -> bool:
        """Whether both count as the same POMDP, by their sizes and scores."""
        apart = abs(self.mean - other.mean)
        return self.fitted.size == other.fitted.size and apart <= SAME * float(self.scores.std())


@dataclass(frozen=True, eq=False)
class Candidate:
    """One POMDP fitted to all episodes, and its log-likelihood on episodes held out before.

    cautious: the POMDP to plan on, with penalties for rarely tried actions; caution: which actions
    in which states these are. states: their number, without the end. loglik: held-out
    log-likelihood of observations and rewards, per episode, continuous rewards in bins; behind: the
    best one minus this, and stderr: the standard error of this difference.
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
    """The mean of best - scores, (N,) each, and its standard error.

    The standard error is at least 1 / N nats: in a deterministic system rounding would decide.
    """
    behind = best - scores
    return float(behind.mean()), max(float(behind.std() / np.sqrt(len(behind))), 1 / len(behind))


def choose_number_of_states(candidates: list[Scored], keep: int) -> list[Scored]:
    """The POMDPs within one standard error of the best, at most `keep`, the fewest states first.

    Several starts often end in the same POMDP; it is chosen once.
    """
    best = max(candidates, key=lambda one: one.mean)
    behind = [difference(best.scores, one.scores) for one in candidates]
    near = [one for one, (by, stderr) in zip(candidates, behind, strict=True) if by <= stderr]
    return distinct(sorted(near, key=lambda one: (one.fitted.size, -one.mean)))[:keep]


def distinct(candidates: list[Scored]) -> list[Scored]:
    """The list without repetitions of the same POMDP."""
    kept: list[Scored] = []
    for one in candidates:
        if not any(one.same_as(other) for other in kept):
            kept.append(one)
    return kept
