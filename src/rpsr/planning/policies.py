"""Policies on linear models: told what was done and seen, they say what to do next.

`AlphaPolicy` looks one step ahead through the model,

    Q(x, a) = x R[:, a] + discount * sum_o max_k (x M[a, o]) . alpha_k,

and takes the lowest action whose value is within 4 epsilon of the best, epsilon being the certified
error of the value function: with |V - V*| <= epsilon, Q is off by at most epsilon, so two planners
that both certify epsilon keep a common optimal action among their candidates. That is what makes
the policies of a POMDP and of its R-PSR the same and not only their values.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from rpsr.errors import InputError, ModelError
from rpsr.io.records import Floats
from rpsr.models.domain import Simplex
from rpsr.models.labels import Label, index_of
from rpsr.models.linear import LinearModel
from rpsr.planning.finite import ROUNDING, infinite_discount
from rpsr.planning.limits import Clock
from rpsr.planning.solution import Solution


class Policy(Protocol):
    """A policy being followed. A shallow copy (`copy.copy`) goes its own way from where it is."""

    @property
    def memory(self) -> Floats:
        """What, with the policy itself, determines all it will do: a vector of fixed length."""
        ...

    def start(self) -> None:
        """Forget the history: the next action is the first."""
        ...

    def act(self) -> int:
        """The index of the action to take now; asking again changes nothing."""
        ...

    def update(self, action: Label, observation: Label) -> None:
        """Take in what was done and seen."""
        ...


def action_values(
    model: LinearModel, states: Floats, vectors: Floats, clock: Clock | None = None
) -> Floats:
    """One-step values Q, (B, n) -> (B, A), of going on with the value function max_k vectors[k]."""
    discount = 1.0 if model.discount is None else model.discount
    values = states @ model.rewards
    never = np.zeros(len(model.observations), dtype=np.bool_)
    for a in range(len(model.actions)):
        if isinstance(model.domain, Simplex):  # what no state shows adds nothing
            never = ~model.emissions[a].any(axis=0)
        for o in np.flatnonzero(~never).tolist():
            if clock is not None:
                clock.check()
            after = model.operators.left(states, a, o)
            values[:, a] += discount * (after @ vectors.T).max(axis=1)
    return values


def best_action(values: Floats, epsilon: float | None) -> int:
    """The lowest action within 4 epsilon of the best (or within rounding of it), (A,) -> index."""
    tolerance = 4 * max(epsilon or 0.0, ROUNDING * float(np.abs(values).max()))
    return int((values >= values.max() - tolerance).argmax())


class AlphaPolicy:
    """Greedy for a value function, one step ahead, on the filtered state of a model.

    vectors (K, n); epsilon: the certified error of the value function, where there is one.
    """

    def __init__(self, model: LinearModel, vectors: Floats, epsilon: float | None = None) -> None:
        if vectors.ndim != 2 or vectors.shape[1] != model.dimension or len(vectors) == 0:
            expected = f"(K, {model.dimension})"
            raise InputError(f"vectors: read shape {vectors.shape}, expected {expected}")
        self.model = model
        self.vectors = vectors
        self.epsilon = epsilon
        self._filter = model.filter()

    @staticmethod
    def of(solution: Solution) -> AlphaPolicy:
        """The policy of a solution for the infinite horizon."""
        if solution.horizon is not None:
            raise ModelError("a plan for a finite horizon changes by step: use `StagedPolicy`")
        return AlphaPolicy(solution.model, solution.vectors, solution.epsilon)

    @property
    def memory(self) -> Floats:
        """The memory of the filter: the state, (n,), and on a learned model recent interactions."""
        return self._filter.memory

    def start(self) -> None:
        """Forget the history."""
        self._filter = self.model.filter()

    def act(self) -> int:
        """The action for the current state."""
        return self.action_at(self._filter.state)

    def update(self, action: Label, observation: Label) -> None:
        """Filter one interaction."""
        self._filter = self._filter.after(action, observation)  # copies of the policy keep theirs

    def action_at(self, x: Floats) -> int:
        """The action for any state of the model, (n,)."""
        return best_action(action_values(self.model, x[None], self.vectors)[0], self.epsilon)


class StagedPolicy:
    """Greedy for a finite horizon: with k steps to go it looks ahead to the value of k - 1.

    stages: the value functions for 1, 2, ..., H steps, each (K, n).
    """

    def __init__(self, model: LinearModel, stages: tuple[Floats, ...]) -> None:
        if not stages:
            raise InputError("stages: expected at least one value function")
        self.model = model
        self.stages = (np.zeros((1, model.dimension)), *stages)
        self.start()

    @staticmethod
    def of(solution: Solution) -> StagedPolicy:
        """The policy of a solution for a finite horizon."""
        if not solution.stages:
            raise ModelError(f"the solution of {solution.planner} holds no value function a step")
        return StagedPolicy(solution.model, tuple(stage[0] for stage in solution.stages))

    @property
    def memory(self) -> Floats:
        """The memory of the filter, then how many steps are left."""
        return np.append(self._filter.memory, float(self._left))

    def start(self) -> None:
        """Forget the history; the whole horizon is ahead."""
        self._filter = self.model.filter()
        self._left = len(self.stages) - 1

    def act(self) -> int:
        """The action for the current state and the steps that are left."""
        if self._left == 0:
            raise ModelError(f"the horizon of {len(self.stages) - 1} steps is over")
        vectors = self.stages[self._left - 1]
        return best_action(action_values(self.model, self._filter.state[None], vectors)[0], None)

    def update(self, action: Label, observation: Label) -> None:
        """Filter one interaction; one step fewer is left."""
        self._filter = self._filter.after(action, observation)
        self._left = max(0, self._left - 1)


class UniformPolicy:
    """Any action with equal chance, drawn from a generator that the user gives."""

    def __init__(self, model: LinearModel, rng: np.random.Generator) -> None:
        self.model = model
        self._rng = rng
        self._action = self._draw()

    def _draw(self) -> int:
        return int(self._rng.integers(len(self.model.actions)))

    @property
    def memory(self) -> Floats:
        """The action drawn for this step, (1,)."""
        return np.array([float(self._action)])

    def start(self) -> None:
        """Draw the first action."""
        self._action = self._draw()

    def act(self) -> int:
        """The action drawn for this step."""
        return self._action

    def update(self, action: Label, observation: Label) -> None:
        """Draw the next action; what was seen is only checked to exist."""
        index_of(self.model.actions, action, "action")
        index_of(self.model.observations, observation, "observation")
        self._action = self._draw()

    def vector(self) -> Floats:
        """The expected discounted return from every state, exactly, (n,)."""
        model, n = self.model, self.model.dimension
        discount = infinite_discount(model)
        moves = sum(
            model.operators.matrix(a, o)
            for a in range(len(model.actions))
            for o in range(len(model.observations))
        )
        system = np.eye(n) - discount / len(model.actions) * np.asarray(moves)
        return np.linalg.solve(system, model.rewards.mean(axis=1))
