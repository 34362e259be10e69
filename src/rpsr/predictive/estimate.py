"""Core sets decided in floats: fast, with a margin instead of a certificate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rpsr import deadline
from rpsr.io.records import Bools, Floats, Ints
from rpsr.models.pomdp import POMDP
from rpsr.predictive.modular import reductions
from rpsr.predictive.orthonormal import DEFAULT_TOLERANCE, FloatArithmetic, reward_magnitudes
from rpsr.predictive.quotient import coarsest
from rpsr.predictive.search import Member, Search, breadth_first


@dataclass(frozen=True, eq=False)
class FloatCore:
    """A core set as floats see it.

    members: the core set, in order of acceptance.
    basis (S, rank): orthonormal, with the span of the members' outcome vectors.
    margin: the smallest accepted and the largest rejected relative residual; the rank is as clear
    as these are apart.
    reward_residuals (A,): the part of R[:,a] outside the span, relative to its magnitude.
    labels (S,): blocks of states that no outcome vector tells apart, numbered by first state.
    """

    members: tuple[Member, ...]
    basis: Floats
    margin: tuple[float, float]
    reward_residuals: Floats
    labels: Ints
    tolerance: float

    @property
    def rank(self) -> int:
        """The number of members."""
        return len(self.members)

    @property
    def rewards_inside(self) -> Bools:
        """(A,): whether R[:,a] lies in the span, as far as the tolerance can tell."""
        return self.reward_residuals <= self.tolerance

    @property
    def accurate(self) -> bool:
        """The accuracy condition: whether every column of R lies in the span."""
        return bool(self.rewards_inside.all())


def float_core(
    pomdp: POMDP,
    *,
    rewards: bool,
    search: Search = breadth_first,
    tolerance: float = DEFAULT_TOLERANCE,
    seed: int = 0,
) -> FloatCore:
    """A core set of tests, or with `rewards` of intents, in floats.

    The seed is for the merging of states and the screening of candidates; neither is left to
    chance that matters (1e-13 per candidate).
    """
    rng = np.random.default_rng(seed)
    quotient = coarsest(next(reductions(pomdp, rng)), rng, rewards=rewards)
    deadline.begin(f"searching for core {'intents' if rewards else 'tests'}")
    arithmetic = FloatArithmetic(pomdp, quotient, rng, rewards=rewards, tolerance=tolerance)
    members = search(arithmetic, rewards)
    basis = arithmetic.basis
    sizes = np.linalg.norm(reward_magnitudes(pomdp), axis=0)
    left = np.linalg.norm(pomdp.R - basis @ (basis.T @ pomdp.R), axis=0)
    return FloatCore(
        members=members,
        basis=basis,
        margin=(arithmetic.accepted, arithmetic.rejected),
        reward_residuals=left / np.where(sizes > 0, sizes, 1.0),
        labels=quotient.labels,
        tolerance=tolerance,
    )
