"""Policies on linear models: they receive actions and observations and return actions.

`AlphaPolicy` acts by a value function max_k alpha_k . x, in one of two ways. If the vectors have
actions, it takes the action of the best vector at the state. Otherwise it looks one step ahead
with the model and takes the best action for

    Q(x, a) = x R[:, a] + discount * sum_o max_k (x M[a, o]) . alpha_k.

If each vector is at most its own backup by vectors of the set, both have a value of at least V.

To compare policies, `AlphaPolicy.of` takes the lowest action whose Q is within 4 epsilon of the
best, where epsilon is the certified error of the value function: if |V - V*| <= epsilon, the error
of Q is at most epsilon. So two planners that both certify epsilon have a common optimal action
among their candidates, and the policies of a POMDP and of its R-PSR agree, not only their values.
The price: each step may lose 4 epsilon.
"""

from __future__ import annotations

from copy import copy, deepcopy
from typing import Protocol, Self

import numpy as np

from rpsr.arguments import whole
from rpsr.errors import InputError, ModelError
from rpsr.io.records import Floats, Ints
from rpsr.models.as_model import as_linear, as_model
from rpsr.models.labels import Label, index_of, observed
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.planning.convergence import ROUNDING, infinite_discount
from rpsr.planning.finite_mdp import lowest_within
from rpsr.planning.linear_systems import solve_dense
from rpsr.planning.solution import Solution
from rpsr.planning.value.value_function import action_values
from rpsr.showing import Shown, counted


class Policy(Protocol):
    """A running policy, with the methods `act`, `update`, `reset` and `copy`.

    User-defined policies may derive from it to inherit `copy`.
    """

    @property
    def memory(self) -> Floats:
        """The memory that determines all further actions: a vector of fixed length."""
        ...

    def reset(self) -> None:
        """Return to the start: the next action is the first."""
        ...

    def act(self) -> int:
        """The index of the action to take now; further calls return the same."""
        ...

    def update(self, action: Label, observation: Label) -> None:
        """Update the memory with an action and the observation after it.

        Both are names or indices: a string is a name; an integer is an index, as `act` returns it.
        An integer that is also the name of another observation is an `InputError`.
        """
        ...

    def copy(self) -> Self:
        """An independent copy with the same memory.

        This copy is shallow: `update` must replace objects, not modify them. A policy that modifies
        them must define its own `copy`.
        """
        return copy(self)


def lowest_best(values: Floats, epsilon: float | None) -> Ints:
    """The lowest action within 4 epsilon of the best (or within rounding of it), (B, A) -> (B,)."""
    scale = np.abs(values).max(axis=1, keepdims=True)
    return lowest_within(values, 4 * np.maximum(epsilon or 0.0, ROUNDING * scale))


class AlphaPolicy(Shown, Policy):
    """Acts by a value function, on the filtered state of a model.

    vectors (K, n). actions (K,): the policy takes the action of the best vector at the state;
    without them it looks one step ahead. epsilon: the certified error of the value function, or
    None. ties: a look-ahead treats actions within 4 epsilon of the best, or within rounding, as
    equal, and takes the lowest.
    """

    def __init__(
        self,
        model: LinearModel,
        vectors: Floats,
        epsilon: float | None = None,
        *,
        actions: Ints | None = None,
        ties: bool = False,
    ) -> None:
        if vectors.ndim != 2 or vectors.shape[1] != model.dimension or len(vectors) == 0:
            expected = f"(vectors, {model.dimension})"
            raise InputError(f"vectors: read shape {vectors.shape}, expected {expected}")
        if actions is not None:
            if actions.shape != (len(vectors),):
                expected = f"one for each of {len(vectors)} vectors"
                raise InputError(f"actions: read shape {actions.shape}, expected {expected}")
            if actions.min() < 0 or actions.max() >= len(model.actions):
                raise InputError(
                    f"actions: read numbers from {actions.min()} to {actions.max()}, expected "
                    f"indices of actions, 0 to {len(model.actions) - 1}"
                )
        self.model = model
        self.vectors = vectors
        self.epsilon = epsilon
        self.actions = actions
        self.ties = ties
        self._filter = model.filter()

    @staticmethod
    def of(solution: Solution) -> AlphaPolicy:
        """The look-ahead of a solution for the infinite horizon, to be compared with others.

        Models of one POMDP get the same policy, which takes the lowest of almost equal actions, and
        may earn less than `solution.lower`. `solution.policy()` takes the best action.
        """
        if solution.horizon is not None:
            raise ModelError(
                "a finite-horizon plan has a value function per step: use `StagedPolicy`"
            )
        return AlphaPolicy(solution.model, solution.vectors, solution.epsilon, ties=True)

    @property
    def memory(self) -> Floats:
        """The memory of the filter: the state, (n,), and on a learned model recent interactions."""
        return self._filter.memory

    def reset(self) -> None:
        """Return to the start."""
        self._filter = self.model.filter()

    def act(self) -> int:
        """The action for the current state."""
        return self.action_at(self._filter.state)

    def update(self, action: Label, observation: Label) -> None:
        """Filter one interaction.

        action, observation: a string is a name; an integer is an index, as `act` returns it. An
        integer that is also the name of another observation is an `InputError`.
        """
        self._filter = self._filter.after(action, observation)  # copies keep the old one

    def action_at(self, x: Floats) -> int:
        """The action for any state of the model, (n,)."""
        return int(self.actions_at(x[None])[0])

    def actions_at(self, states: Floats) -> Ints:
        """The actions for a batch of states of the model, (B, n) -> (B,)."""
        if self.actions is not None:
            return self.actions[(states @ self.vectors.T).argmax(axis=1)]
        values = action_values(self.model, states, self.vectors)
        return lowest_best(values, self.epsilon) if self.ties else values.argmax(axis=1)

    def looking_ahead(self) -> AlphaPolicy:
        """The policy that looks one step ahead with the same vectors, at its start."""
        return AlphaPolicy(self.model, self.vectors, self.epsilon)

    def title(self) -> str:
        """A description in one line."""
        way = "looks one step ahead with" if self.actions is None else "acts by the best of"
        return f"policy that {way} {counted(len(self.vectors), 'vector')}"

    def facts(self) -> list[tuple[str, str]]:
        """The model and the next action."""
        error = [] if self.epsilon is None else [("epsilon", f"{self.epsilon:.3g}")]
        return [*_situation(self.model, self.act()), *error]


class StagedPolicy(Shown, Policy):
    """Greedy for a finite horizon: with k steps left it looks ahead with stage k - 1.

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
            raise ModelError(
                f"the plan of {solution.planner} has no value function per step; plan for a horizon"
            )
        return StagedPolicy(solution.model, tuple(stage.vectors for stage in solution.stages))

    @property
    def memory(self) -> Floats:
        """One vector: the memory of the filter, followed by the number of steps left."""
        return np.append(self._filter.memory, float(self._left))

    def reset(self) -> None:
        """Return to the start, with all steps left."""
        self._filter = self.model.filter()
        self._left = len(self.stages) - 1

    def act(self) -> int:
        """The action for the current state and the number of steps left."""
        if self._left == 0:
            raise ModelError(
                f"the horizon of {counted(len(self.stages) - 1, 'step')} is over; call reset()"
            )
        return int(self.actions_at(self._filter.state[None], self._left)[0])

    def update(self, action: Label, observation: Label) -> None:
        """Filter one interaction, names or indices; one step fewer is left."""
        self._filter = self._filter.after(action, observation)
        self._left = max(0, self._left - 1)

    def actions_at(self, states: Floats, left: int) -> Ints:
        """The actions for a batch of states with this many steps left, (B, n) -> (B,)."""
        return action_values(self.model, states, self.stages[left - 1]).argmax(axis=1)

    def title(self) -> str:
        """A description in one line."""
        return f"policy that looks one step ahead, for {counted(len(self.stages) - 1, 'step')}"

    def facts(self) -> list[tuple[str, str]]:
        """The model, the next action and the steps left."""
        action = self.act() if self._left else None
        return [*_situation(self.model, action), ("steps left", str(self._left))]


def _situation(model: POMDP | LinearModel, action: int | None) -> list[tuple[str, str]]:
    """The model of a policy and its next action."""
    chosen = "none: the horizon is over" if action is None else model.actions[action]
    return [("model", model.title()), ("next action", chosen)]


class UniformPolicy(Shown, Policy):
    """Uniformly random actions; seed: a whole number, or a generator to draw them with."""

    def __init__(self, model: POMDP | LinearModel, seed: int | np.random.Generator = 0) -> None:
        self.model = as_model(model)
        drawn = isinstance(seed, np.random.Generator)
        self._rng = seed if drawn else np.random.default_rng(whole("seed", seed, 0))
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
        """Sample the next action; the observation is only checked to exist."""
        index_of(self.model.actions, action, "action")
        observed(self.model.observations, observation)
        self._action = self._draw()

    def copy(self) -> Self:
        """A copy with a copy of the generator, so that both sample the same actions."""
        twin = copy(self)
        twin._rng = deepcopy(self._rng)
        return twin

    def title(self) -> str:
        """A description in one line."""
        return f"uniform policy over {counted(len(self.model.actions), 'action')}"

    def facts(self) -> list[tuple[str, str]]:
        """The model and the next action."""
        return _situation(self.model, self._action)

    def vector(self) -> Floats:
        """The expected discounted return from every state, exactly, (n,)."""
        model = as_linear(self.model)
        n_actions, discount = len(model.actions), infinite_discount(model)
        moves = discount / n_actions * model.operators.mixed(np.ones(n_actions))
        return solve_dense(moves, model.rewards.mean(axis=1))
