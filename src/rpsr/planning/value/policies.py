"""Policies on linear models: told what was done and seen, they say what to do next.

`AlphaPolicy` acts by a value function max_k alpha_k . x, in one of two ways. Given the actions of
the vectors, it takes that of the vector that is best at the state. Each vector being at most its
own backup by vectors of the set, this earns V or more. Otherwise it looks one step ahead through
the model,

    Q(x, a) = x R[:, a] + discount * sum_o max_k (x M[a, o]) . alpha_k,

and takes the lowest action whose value is within 4 epsilon of the best, epsilon being the certified
error of the value function: with |V - V*| <= epsilon, Q is off by at most epsilon, so two planners
that both certify epsilon keep a common optimal action among their candidates. That is what makes
the policies of a POMDP and of its R-PSR the same and not only their values.
"""

from __future__ import annotations

from copy import copy, deepcopy
from typing import Protocol, Self

import numpy as np

from rpsr.errors import InputError, ModelError
from rpsr.io.records import Floats, Ints
from rpsr.models.given import as_linear, as_model
from rpsr.models.labels import Label, index_of
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.planning.discounted import solve_dense
from rpsr.planning.discounts import ROUNDING, infinite_discount
from rpsr.planning.solution import Solution
from rpsr.planning.value.value_function import action_values
from rpsr.showing import Shown, counted


class Policy(Protocol):
    """A policy being followed, by the four verbs `act`, `update`, `reset` and `copy`.

    A policy of your own may derive from it, which gives it `copy`.
    """

    @property
    def memory(self) -> Floats:
        """What, with the policy itself, determines all it will do: a vector of fixed length."""
        ...

    def reset(self) -> None:
        """Forget the history: the next action is the first."""
        ...

    def act(self) -> int:
        """The index of the action to take now; asking again changes nothing."""
        ...

    def update(self, action: Label, observation: Label) -> None:
        """Take in what was done and seen."""
        ...

    def copy(self) -> Self:
        """The same policy, which goes its own way from where this one is.

        This copy is shallow: `update` must put new objects in the place of old ones, not change
        them; a policy that changes them has a `copy` of its own.
        """
        return copy(self)


def best_actions(values: Floats, epsilon: float | None) -> Ints:
    """The lowest action within 4 epsilon of the best (or within rounding of it), (B, A) -> (B,)."""
    scale = np.abs(values).max(axis=1, keepdims=True)
    tolerance = 4 * np.maximum(epsilon or 0.0, ROUNDING * scale)
    return (values >= values.max(axis=1, keepdims=True) - tolerance).argmax(axis=1)


class AlphaPolicy(Shown, Policy):
    """Acts by a value function, on the filtered state of a model.

    vectors (K, n). actions (K,): take the action of the vector that is best at the state; without
    them, the action that is best one step ahead. epsilon: the certified error of the value
    function, where there is one, within which actions are as good as each other one step ahead.
    """

    def __init__(
        self,
        model: LinearModel,
        vectors: Floats,
        epsilon: float | None = None,
        *,
        actions: Ints | None = None,
    ) -> None:
        if vectors.ndim != 2 or vectors.shape[1] != model.dimension or len(vectors) == 0:
            expected = f"(K, {model.dimension})"
            raise InputError(f"vectors: read shape {vectors.shape}, expected {expected}")
        if actions is not None:
            if actions.shape != (len(vectors),):
                expected = f"one for each of {len(vectors)} vectors"
                raise InputError(f"actions: read shape {actions.shape}, expected {expected}")
            if actions.min() < 0 or actions.max() >= len(model.actions):
                raise InputError(f"actions: expected numbers from 0 to {len(model.actions) - 1}")
        self.model = model
        self.vectors = vectors
        self.epsilon = epsilon
        self.actions = actions
        self._filter = model.filter()

    @staticmethod
    def of(solution: Solution) -> AlphaPolicy:
        """The policy of a solution for the infinite horizon that looks one step ahead."""
        if solution.horizon is not None:
            raise ModelError(
                "a finite-horizon plan has a value function per step: use `StagedPolicy`"
            )
        return solution.value_function.policy(solution.model, solution.epsilon)

    @property
    def memory(self) -> Floats:
        """The memory of the filter: the state, (n,), and on a learned model recent interactions."""
        return self._filter.memory

    def reset(self) -> None:
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
        return int(self.actions_at(x[None])[0])

    def actions_at(self, states: Floats) -> Ints:
        """The actions for a batch of states of the model, (B, n) -> (B,)."""
        if self.actions is not None:
            return self.actions[(states @ self.vectors.T).argmax(axis=1)]
        return best_actions(action_values(self.model, states, self.vectors), self.epsilon)

    def looking_ahead(self) -> AlphaPolicy:
        """The policy that looks one step ahead with the same vectors, at its start."""
        return AlphaPolicy(self.model, self.vectors, self.epsilon)

    def title(self) -> str:
        """What it is, in one line."""
        way = "looks one step ahead with" if self.actions is None else "acts by the best of"
        return f"policy that {way} {counted(len(self.vectors), 'vector')}"

    def facts(self) -> list[tuple[str, str]]:
        """What it is for and what it does next."""
        error = [] if self.epsilon is None else [("epsilon", f"{self.epsilon:.3g}")]
        return [*_situation(self.model, self.act()), *error]


class StagedPolicy(Shown, Policy):
    """Greedy for a finite horizon: with k steps to go it looks ahead to the value of k - 1.

    stages: the value functions for 1, 2, ..., H steps, each (K, n).
    """

    def __init__(self, model: LinearModel, stages: tuple[Floats, ...]) -> None:
        if not stages:
            raise InputError("stages: expected at least one value function")
        self.model = model
        self.stages = (np.zeros((1, model.dimension)), *stages)
        self.reset()

    @staticmethod
    def of(solution: Solution) -> StagedPolicy:
        """The policy of a solution for a finite horizon."""
        if not solution.stages:
            raise ModelError(f"the solution of {solution.planner} has no per-step value functions")
        return StagedPolicy(solution.model, tuple(stage.vectors for stage in solution.stages))

    @property
    def memory(self) -> Floats:
        """The memory of the filter, then how many steps are left."""
        return np.append(self._filter.memory, float(self._left))

    def reset(self) -> None:
        """Forget the history; the whole horizon is ahead."""
        self._filter = self.model.filter()
        self._left = len(self.stages) - 1

    def act(self) -> int:
        """The action for the current state and the steps that are left."""
        if self._left == 0:
            raise ModelError(f"the horizon of {len(self.stages) - 1} steps is over")
        return int(self.actions_at(self._filter.state[None], self._left)[0])

    def update(self, action: Label, observation: Label) -> None:
        """Filter one interaction; one step fewer is left."""
        self._filter = self._filter.after(action, observation)
        self._left = max(0, self._left - 1)

    def actions_at(self, states: Floats, left: int) -> Ints:
        """The actions for a batch of states with this many steps left, (B, n) -> (B,)."""
        return best_actions(action_values(self.model, states, self.stages[left - 1]), None)

    def title(self) -> str:
        """What it is, in one line."""
        return f"policy that looks one step ahead, for {counted(len(self.stages) - 1, 'step')}"

    def facts(self) -> list[tuple[str, str]]:
        """What it is for, what it does next and how long it goes on."""
        action = self.act() if self._left else None
        return [*_situation(self.model, action), ("steps left", str(self._left))]


def _situation(model: POMDP | LinearModel, action: int | None) -> list[tuple[str, str]]:
    """For what model a policy is and what it does next, for people."""
    chosen = "none: its horizon is over" if action is None else model.actions[action]
    return [("model", model.title()), ("next action", chosen)]


class UniformPolicy(Shown, Policy):
    """Any action with equal chance, drawn from a generator that the user gives."""

    def __init__(self, model: POMDP | LinearModel, rng: np.random.Generator) -> None:
        self.model = as_model(model)
        self._rng = rng
        self._action = self._draw()

    def _draw(self) -> int:
        return int(self._rng.integers(len(self.model.actions)))

    @property
    def memory(self) -> Floats:
        """The action drawn for this step, (1,)."""
        return np.array([float(self._action)])

    def reset(self) -> None:
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

    def copy(self) -> Self:
        """The same policy, which will draw the same as this one, from a generator of its own."""
        twin = copy(self)
        twin._rng = deepcopy(self._rng)
        return twin

    def title(self) -> str:
        """What it is, in one line."""
        return f"uniform policy over {counted(len(self.model.actions), 'action')}"

    def facts(self) -> list[tuple[str, str]]:
        """What it is for and what it does next."""
        return _situation(self.model, self._action)

    def vector(self) -> Floats:
        """The expected discounted return from every state, exactly, (n,)."""
        model = as_linear(self.model)
        n_actions, discount = len(model.actions), infinite_discount(model)
        moves = discount / n_actions * model.operators.mixed(np.ones(n_actions))
        return solve_dense(moves, model.rewards.mean(axis=1))
