"""The one shape of a value function: vectors, what each does, and which vector follows.

V(x) = max_k vectors[k] . x. Each vector is at most the value of a policy that takes its action and
then, after each observation, follows the vector that `successors` names, so that a set which is
closed under that is a finite-state controller. Exact planning proves some value functions only on
the states that can follow an interaction (see `faces`). Those are worth what one step of looking
ahead makes of them, and `at` then looks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.models.domain import Simplex
from rpsr.models.given import as_linear
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP

if TYPE_CHECKING:
    from rpsr.planning.limits import Clock
    from rpsr.planning.value.policies import AlphaPolicy


@dataclass(frozen=True, eq=False)
class ValueFunction:
    """K vectors (K, n) with actions (K,) and successors (K, O), -1 where those are not known.

    vectors: in a model's coordinates, or values at the corners of its domain, as the holder says.
    ahead: the model by which to look one step ahead, where V is proven so; None otherwise.
    """

    vectors: Floats
    actions: Ints
    successors: Ints
    ahead: LinearModel | None = None

    @staticmethod
    def of(vectors: Floats, choices: Ints) -> ValueFunction:
        """With choices (K, 1 + O): the action and the successors of each vector in one row."""
        made = ValueFunction(vectors, choices[:, 0], choices[:, 1:])
        made.__dict__["choices"] = choices
        return made

    @staticmethod
    def repeating(vectors: Floats, actions: Ints, n_observations: int) -> ValueFunction:
        """Policies that take one action at every step: each vector is followed by itself."""
        itself = np.repeat(np.arange(len(vectors))[:, None], n_observations, axis=1)
        return ValueFunction(vectors, actions, itself)

    @cached_property
    def choices(self) -> Ints:
        """Actions and successors in one row each, (K, 1 + O)."""
        return np.column_stack([self.actions, self.successors])

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.vectors.nbytes + self.actions.nbytes + self.successors.nbytes

    def __len__(self) -> int:
        return len(self.vectors)

    def at(self, states: Floats) -> Floats:
        """The value at a batch of states, (B, n) -> (B,)."""
        flat = np.max(states @ self.vectors.T, axis=1)
        if self.ahead is None:
            return flat
        return np.maximum(flat, action_values(self.ahead, states, self.vectors).max(axis=1))

    def best(self, states: Floats) -> Ints:
        """The vector that is best at each of a batch of states, (B, n) -> (B,)."""
        return (states @ self.vectors.T).argmax(axis=1)

    def policy(self, model: POMDP | LinearModel, epsilon: float | None = None) -> AlphaPolicy:
        """The policy that looks one step ahead to it on a model; epsilon: its certified error."""
        from rpsr.planning.value.policies import AlphaPolicy

        return AlphaPolicy(as_linear(model), self.vectors, epsilon)


def contributing(model: LinearModel, action: int) -> list[int]:
    """The observations that may add to a value after an action.

    On a simplex, an observation that no state shows has the operator zero. Elsewhere M[a, o] e = 0
    does not say that: an operator that was learned may be nonzero all the same, and values count
    it.
    """
    if isinstance(model.domain, Simplex):
        return np.flatnonzero(model.emissions[action].any(axis=0)).tolist()
    return list(range(len(model.observations)))


def action_values(
    model: LinearModel, states: Floats, vectors: Floats, clock: Clock | None = None
) -> Floats:
    """One-step values Q, (B, n) -> (B, A), of following with V = max_k vectors[k] (K, n)."""
    discount = 1.0 if model.discount is None else model.discount
    values = states @ model.rewards
    for a in range(len(model.actions)):
        for o in contributing(model, a):
            if clock is not None:
                clock.check()
            after = model.operators.left(states, a, o)
            values[:, a] += discount * (after @ vectors.T).max(axis=1)
    return values
