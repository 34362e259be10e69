"""Value functions: vectors with their actions and successors.

V(x) = max_k vectors[k] . x. Each vector is at most the value of a policy that takes its action and
then continues, after each observation, with the vector in `successors`. So a set that contains its
successors is a finite-state controller. Exact planning proves some value functions only on faces,
the states that can follow an interaction (see `faces`). Elsewhere their value is that of a
look-ahead, which `at` then computes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.models.as_model import as_linear
from rpsr.models.linear import LinearModel
from rpsr.models.operators import SparseOperators
from rpsr.models.pomdp import POMDP

MANY = 2**14  # observations times dimension: few observations are possible in one sparse state
TOGETHER = 64  # sparse states at once: products with all vectors stay small

if TYPE_CHECKING:
    from rpsr.planning.limits import Clock
    from rpsr.planning.value.policies import AlphaPolicy


@dataclass(frozen=True, eq=False)
class ValueFunction:
    """K vectors (K, n) with actions (K,) and successors (K, O), -1 where unknown.

    vectors: in a model's coordinates, or values at its corners, depending on the owner.
    ahead: the model for a look-ahead, if V is proven on faces only; else None.
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

    @property
    def held(self) -> Floats | PartialVectors:
        """The vectors as they are stored: (K, n), or without the value that most states share."""
        return self.vectors

    @property
    def largest(self) -> float:
        """The largest absolute value of a coefficient."""
        return float(np.abs(self.vectors).max())

    def __len__(self) -> int:
        return len(self.actions)

    def at(self, states: Floats) -> Floats:
        """The value at a batch of states, (B, n) -> (B,)."""
        flat = np.max(states @ self.vectors.T, axis=1)
        if self.ahead is None:
            return flat
        return np.maximum(flat, action_values(self.ahead, states, self.vectors).max(axis=1))

    def best(self, states: Floats) -> Ints:
        """The vector that is best at each of a batch of states, (B, n) -> (B,)."""
        return (states @ self.vectors.T).argmax(axis=1)

    def policy(self, model: POMDP | LinearModel) -> AlphaPolicy:
        """The policy that looks one step ahead with it on a model, and takes the best action."""
        from rpsr.planning.value.policies import AlphaPolicy

        return AlphaPolicy(as_linear(model), self.vectors)


@dataclass(frozen=True, eq=False)
class PartialVectors:
    """K vectors (K, n) that have one value at most states.

    Vector i has the values from first[i] to first[i + 1], at these states, and elsewhere another.
    first (K + 1,); state and value (entries,).
    """

    first: Ints
    state: Ints
    value: Floats
    elsewhere: float
    dimension: int

    @property
    def shape(self) -> tuple[int, int]:
        """(K, n)."""
        return len(self.first) - 1, self.dimension

    @property
    def size(self) -> int:
        """The numbers of `dense`."""
        return len(self) * self.dimension

    def __len__(self) -> int:
        return len(self.first) - 1

    def dense(self) -> Floats:
        """All numbers, (K, n)."""
        vectors = np.full(self.shape, self.elsewhere)
        row = np.repeat(np.arange(len(vectors)), np.diff(self.first))
        vectors[row, self.state] = self.value
        return vectors


class PartialValueFunction(ValueFunction):
    """A value function of partial vectors on beliefs; `vectors` is computed when it is needed.

    A plan for a large problem then takes little memory, unless its vectors are asked for. A copy
    with other vectors (`dataclasses.replace`) has no partial ones.
    """

    partial: PartialVectors | None = None

    @staticmethod
    def made(partial: PartialVectors, choices: Ints) -> PartialValueFunction:
        """With choices (K, 1 + O), as in `ValueFunction.of`."""
        self = object.__new__(PartialValueFunction)
        given = {"partial": partial, "actions": choices[:, 0], "successors": choices[:, 1:]}
        self.__dict__.update(given, choices=choices, ahead=None)
        return self

    @cached_property
    def vectors(self) -> Floats:  # pyright: ignore[reportIncompatibleVariableOverride]
        """All numbers, (K, n)."""
        assert self.partial is not None
        return self.partial.dense()

    @property
    def held(self) -> Floats | PartialVectors:
        """The partial vectors; all numbers, (K, n), for a copy with other vectors."""
        return self.vectors if self.partial is None else self.partial

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays, without those of `vectors` if they are partial."""
        if self.partial is None:
            return super().nbytes
        held = (self.partial.first, self.partial.state, self.partial.value)
        return sum(array.nbytes for array in (*held, self.choices))

    @property
    def largest(self) -> float:
        """The largest absolute value of a coefficient."""
        if self.partial is None:
            return super().largest
        return max(float(np.abs(self.partial.value).max(initial=0.0)), abs(self.partial.elsewhere))


def contributing(model: LinearModel, action: int) -> list[int]:
    """The observations that may add to a value after an action.

    On a simplex, an observation that no state emits has the operator zero. Elsewhere M[a, o] e = 0
    does not imply that: a learned operator may be nonzero nevertheless, and affects values.
    """
    if model.domain.beliefs:
        return np.flatnonzero(model.emissions[action].any(axis=0)).tolist()
    return list(range(len(model.observations)))


def action_values(
    model: LinearModel, states: Floats, vectors: Floats, clock: Clock | None = None
) -> Floats:
    """One-step values Q, (B, n) -> (B, A), of continuing with V = max_k vectors[k], (K, n)."""
    discount = 1.0 if model.discount is None else model.discount
    values = states @ model.rewards
    sparse, shape = model.operators, model.operators.shape
    if isinstance(sparse, SparseOperators) and shape[1] * shape[2] >= MANY:
        for first in range(0, len(states), TOGETHER):
            part = slice(first, first + TOGETHER)
            values[part] += discount * _ahead(sparse, states[part], vectors, clock)
        return values
    if isinstance(sparse, SparseOperators) and len(states) == 1:  # a policy that acts
        for a in range(len(model.actions)):
            after = sparse.outcomes(states[0], a)
            for o in np.flatnonzero(after.any(axis=1)):
                values[0, a] += discount * (after[o : o + 1] @ vectors.T).max()
        return values
    for a in range(len(model.actions)):
        for o in contributing(model, a):
            if clock is not None:
                clock.check()
            after = model.operators.left(states, a, o)
            values[:, a] += discount * (after @ vectors.T).max(axis=1)
    return values


def _ahead(
    operators: SparseOperators, states: Floats, vectors: Floats, clock: Clock | None
) -> Floats:
    """sum_o V(x M[a, o]), (B, n) -> (B, A), from the possible observations of each state alone."""
    (n_actions, n_observations, _), batch = operators.shape, len(states)
    sums = np.zeros((batch, n_actions))
    for a in range(n_actions):
        if clock is not None:
            clock.check()
        outcomes, after = operators.successors(states, a)
        best = np.asarray(after @ vectors.T).max(axis=1, initial=-np.inf)
        sums[:, a] = np.bincount(outcomes // n_observations, best, batch)
    return sums
