"""The direct sum of two linear models of one process.

States are pairs (x, y), both filtered from the same history. Since both models give an observation
the same probability, the pair is a state of a linear model with block-diagonal operators and the
first model's normaliser. Its rewards are the first model's; the second's are `second_rewards`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rpsr.errors import ModelError
from rpsr.io.records import Floats
from rpsr.models.domain import Corners, Domain, Unknown
from rpsr.models.linear import LinearModel
from rpsr.models.operators import Operators


@dataclass(frozen=True, eq=False)
class SumOperators(Operators):
    """Block-diagonal operators: those of two models of dimensions n and m."""

    first: Operators
    second: Operators

    @property
    def shape(self) -> tuple[int, int, int]:
        """(A, O, n + m)."""
        actions, observations, n = self.first.shape
        return actions, observations, n + self.second.shape[2]

    def left(self, x: Floats, action: int, observation: int) -> Floats:
        """(x, y) M[a, o], (B, n + m) -> (B, n + m)."""
        n = self.first.shape[2]
        ahead = self.first.left(x[:, :n], action, observation)
        return np.hstack([ahead, self.second.left(x[:, n:], action, observation)])

    def right(self, v: Floats, action: int, observation: int) -> Floats:
        """M[a, o] (v, w), (K, n + m) -> (K, n + m)."""
        n = self.first.shape[2]
        ahead = self.first.right(v[:, :n], action, observation)
        return np.hstack([ahead, self.second.right(v[:, n:], action, observation)])


def direct_sum(first: LinearModel, second: LinearModel) -> LinearModel:
    """The direct sum of two models with the same actions and observations."""
    if (first.actions, first.observations) != (second.actions, second.observations):
        raise ModelError(f"{first} and {second} do not have the same actions and observations")
    n = second.dimension
    off = float(np.abs(_seen(first) - _seen(second)).max())
    if off > 1e-9:
        raise ModelError(
            f"{first} and {second} predict different first observations: "
            f"probabilities differ by {off:.2g}"
        )
    return LinearModel(
        kind=f"{first.kind}+{second.kind}",
        name=first.name,
        actions=first.actions,
        observations=first.observations,
        start=np.concatenate([first.start, second.start]),
        operators=SumOperators(first.operators, second.operators),
        normalizer=np.concatenate([first.normalizer, np.zeros(n)]),
        rewards=np.vstack([first.rewards, np.zeros((n, len(first.actions)))]),
        discount=first.discount,
        domain=_domain(first, second),
        rounding=max(first.rounding, second.rounding),
        reward_error=first.reward_error,
    )


def second_rewards(first: LinearModel, second: LinearModel) -> Floats:
    """The second model's rewards on states of the sum, (n + m, A)."""
    return np.vstack([np.zeros((first.dimension, len(first.actions))), second.rewards])


def _seen(model: LinearModel) -> Floats:
    return np.stack([model.predict(model.start, a) for a in range(len(model.actions))])


def _domain(first: LinearModel, second: LinearModel) -> Domain:
    """Pairs of corners, if both models' corners are the states of one POMDP."""
    origins = {model.pomdp for model in (first, second)}
    domains = [first.domain, second.domain]
    if len(origins) > 1 or None in origins or not all(domain.known for domain in domains):
        return Unknown()
    error = sum(domain.error for domain in domains)
    corners = np.hstack([domain.corners for domain in domains])
    return Corners(corners, second.corner_kernel, error=error)
