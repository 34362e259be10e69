"""Core sets decided in floats: fast, and reliable if the margin is wide."""

from __future__ import annotations

import numpy as np

from rpsr import deadline
from rpsr.models.pomdp import POMDP
from rpsr.predictive.rank.modular import reductions
from rpsr.predictive.rank.orthonormal import FloatArithmetic
from rpsr.predictive.rank.quotient import coarsest
from rpsr.predictive.rank.search import Member, Search


def float_arithmetic(pomdp: POMDP, *, rewards: bool, seed: int = 0) -> FloatArithmetic:
    """Outcome vectors in floats, one coordinate per block of states; with `rewards`, of intents.

    The seed is used to merge states and to screen candidates; the error probability is negligible
    (1e-13 per candidate).
    """
    rng = np.random.default_rng(seed)
    quotient = coarsest(next(reductions(pomdp, rng)), rng, rewards=rewards)
    return FloatArithmetic(pomdp, quotient, rng, rewards=rewards)


def float_members(
    pomdp: POMDP, *, rewards: bool, search: Search, seed: int = 0
) -> tuple[Member, ...]:
    """The members of a core set of tests, or with `rewards` of intents, in floats."""
    arithmetic = float_arithmetic(pomdp, rewards=rewards, seed=seed)
    deadline.begin(f"searching for core {'intents' if rewards else 'tests'}")
    return search(arithmetic, rewards)
