"""The exact rewards that a predictive model represents, and a bound on the error of its floats.

An R-PSR represents the POMDP's R, and so does a PSR that meets the accuracy condition. Any other
PSR represents P R, the orthogonal projection of R on the span of outcome vectors. For a span of
blocks of states that is an average, computed in fractions. Otherwise P is known through a basis Q
in floats, with

    |(I - P) Q| <= e  and  |Q^T Q - I| <= h  give  |Q Q^T - P| <= (e + h) / (1 - h)

in the spectral norm, since Q Q^T is within h / (1 - h) of the projection on the span of Q, whose
largest angle to the exact span has a sine of at most e / (1 - h).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from rpsr.io.records import Bools, Floats, Ints
from rpsr.models.pomdp import POMDP
from rpsr.models.rounding import products
from rpsr.predictive.core import Core

EXACT_WORK = 30_000  # limit on products of fractions in exact least squares


def on_blocks(core: Core) -> bool:
    """Whether the span is certainly that of all vectors constant on blocks."""
    return core.certified and core.rank == int(core.blocks.max()) + 1


def block_means(
    pomdp: POMDP, labels: Ints, chosen: Bools | None = None
) -> list[tuple[list[int], list[Fraction]]]:
    """The chosen states of every block, and the mean reward of each action there, exactly."""
    exact = pomdp.exact_rewards()
    members: dict[int, list[int]] = {}
    for state, label in enumerate(labels.tolist()):
        if chosen is None or chosen[state]:
            members.setdefault(label, []).append(state)
    means: list[tuple[list[int], list[Fraction]]] = []
    for states in members.values():
        columns = zip(*(exact[s] for s in states), strict=True)
        means.append((states, [sum(column, Fraction(0)) / len(states) for column in columns]))
    return means


def rewards_meant(pomdp: POMDP, core: Core) -> tuple[Floats, float]:
    """Rewards Q^T R of a model in the span of Q, (n, A), and a bound on their error at a corner.

    The error is the distance of Q Q^T R from the rewards that the model represents.
    """
    basis, meant = core.basis, pomdp.R
    carried = core.kind == "rpsr" or core.accurate
    if not carried and on_blocks(core):
        meant, carried = np.empty_like(meant), True
        for states, means in block_means(pomdp, core.blocks):
            meant[states] = [float(mean) for mean in means]
    rewards = basis.T @ meant
    if carried:
        return rewards, off_at_corners(core, rewards, meant) + pomdp.reward_error
    n_states, rank = basis.shape
    terms = products(n_states + rank)
    skew = float(np.linalg.norm(basis.T @ basis - np.eye(rank))) + terms * rank
    turned = (core.error + skew) / (1 - skew)
    size = float(np.linalg.norm(meant, axis=0).max())
    off = turned * size + terms * float((np.abs(basis) @ (np.abs(basis).T @ np.abs(meant))).max())
    return rewards, off + float(np.sqrt(n_states)) * pomdp.reward_error


def off_at_corners(core: Core, rewards: Floats, meant: Floats) -> float:
    """The measured error of rewards (n, A) against their exact values at the states, (S, A)."""
    terms = products(core.rank + 1)
    size = float((np.abs(core.basis) @ np.abs(rewards)).max() + np.abs(meant).max())
    return float(np.abs(core.basis @ rewards - meant).max()) + terms * size


def exact_residuals(
    vectors: list[list[Fraction]], targets: list[list[Fraction]]
) -> list[list[Fraction]] | None:
    """The least-squares residuals of targets, by Gram-Schmidt; None if that is too much work.

    vectors and targets: of one length. Vectors may be dependent.
    """
    length = len(vectors[0]) if vectors else 0
    if len(vectors) * (len(vectors) + len(targets)) * length > EXACT_WORK:
        return None
    directions: list[tuple[list[Fraction], Fraction]] = []

    def without(vector: list[Fraction]) -> list[Fraction]:
        for direction, square in directions:
            factor = sum(x * y for x, y in zip(vector, direction, strict=True)) / square
            if factor:
                vector = [x - factor * y for x, y in zip(vector, direction, strict=True)]
        return vector

    for vector in vectors:
        left = without(vector)
        if any(left):
            directions.append((left, sum((x * x for x in left), Fraction(0))))
    return [without(target) for target in targets]
