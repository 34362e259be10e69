"""Finite-state controllers: each node has an action, and a successor for each observation.

The value of a node is linear in the state (see `controller_equations`), on a belief model, a PSR or
an R-PSR.

Reference: E. A. Hansen, "Solving POMDPs by searching in policy space", UAI 1998.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rpsr.errors import InputError, ModelError
from rpsr.io.records import Floats, Ints
from rpsr.models.as_model import as_linear, as_model, wrong_type
from rpsr.models.labels import Label, index_of, observed
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.planning.convergence import infinite_discount, undiscounted
from rpsr.planning.limits import Clock, no_limits
from rpsr.planning.solution import Solution
from rpsr.planning.value.controller_equations import Equations
from rpsr.planning.value.policies import Policy
from rpsr.planning.value.sums_to_the_end import sum_at_start, sums_to_the_end
from rpsr.showing import Shown, counted, some


@dataclass(frozen=True, eq=False, repr=False)
class FiniteStateController(Shown):
    """K nodes with actions (K,) and successors (K, O), starting in node `first`.

    A successor of -1 means that the observation is not expected: if it occurs, the controller
    restarts. Names are those of the controller's model.
    """

    action_names: tuple[str, ...]
    observation_names: tuple[str, ...]
    actions: Ints
    successors: Ints
    first: int = 0

    def __post_init__(self) -> None:
        n_nodes, n_observations = len(self.actions), len(self.observation_names)
        if n_nodes == 0:
            raise InputError("actions: read no nodes, expected at least one")
        if self.successors.shape != (n_nodes, n_observations):
            expected = (n_nodes, n_observations)
            raise InputError(
                f"successors: read shape {self.successors.shape}, expected (nodes, observations), "
                f"{expected}"
            )
        for what, numbers, low, high in (
            ("actions", self.actions, 0, len(self.action_names)),
            ("successors", self.successors, -1, n_nodes),
            ("first", np.array([self.first]), 0, n_nodes),
        ):
            if numbers.min() < low or numbers.max() >= high:
                raise InputError(
                    f"{what}: read numbers from {numbers.min()} to {numbers.max()}, expected "
                    f"numbers from {low} to {high - 1}"
                )

    def __len__(self) -> int:
        return len(self.actions)

    def policy(self) -> ControllerPolicy:
        """The controller as a policy, in its first node."""
        return ControllerPolicy(self)

    def after(self, node: int, observation: int) -> int:
        """The node that follows."""
        successor = int(self.successors[node, observation])
        return self.first if successor < 0 else successor

    def vectors(self, model: POMDP | LinearModel, clock: Clock | None = None) -> Floats:
        """The value of every node in every state of a model, (K, n), up to rounding.

        clock: past its deadline the result is approximate; `excess` bounds the error. Without a
        discount, NaN where the sum of rewards is infinite (see `sums_to_the_end`).
        """
        linear = as_linear(model)
        if undiscounted(linear):
            return self._sums(linear)
        return self._equations(linear).solve(clock or no_limits())

    def _sums(self, model: LinearModel) -> Floats:
        """The values without a discount, (K, n)."""
        self.check(model)
        taken = np.eye(len(model.actions))[self.actions]
        successors = np.where(self.successors < 0, self.first, self.successors)
        everywhere = np.repeat(successors[:, None], len(model.actions), axis=1)
        values = sums_to_the_end(model, taken, everywhere)
        if values is None:
            infinite_discount(model)  # refuses, and says what to do
            raise AssertionError("a discount below 1 has no sums to the end")
        return values

    def _equations(self, model: LinearModel) -> Equations:
        self.check(model)
        successors = np.where(self.successors < 0, self.first, self.successors)
        return Equations(model, self.actions, successors, infinite_discount(model))

    def best_node(self, model: POMDP | LinearModel) -> int:
        """The node with the largest value at a model's start; restarts lead to `first`.

        Values of many nodes are computed only until the best one is certain.
        """
        linear = as_linear(model)
        if undiscounted(linear):
            begin = np.flatnonzero(linear.start)
            sums = self._sums(linear)[:, begin] @ linear.start[begin]
            return int(np.where(np.isnan(sums), -np.inf, sums).argmax())
        discount = infinite_discount(linear)

        def worth(vectors: Floats) -> Floats:
            return vectors.reshape(len(self), -1) @ linear.start

        def decided(vectors: Floats, residual: float) -> bool:
            if len(self) == 1:
                return True
            second, best = np.partition(worth(vectors), -2)[-2:]
            return best - second > 2 * residual / (1 - discount)

        # On a simplex the residual bounds the error of values, in coordinates of a PSR it does not.
        stop = decided if linear.domain.beliefs else None
        return int(worth(self._equations(linear).solve(no_limits(), stop)).argmax())

    def value(self, model: POMDP | LinearModel) -> float:
        """The value at a model's start."""
        linear = as_linear(model)
        if undiscounted(linear):
            return sum_at_start(linear, self._sums(linear)[self.first])
        return float(self.vectors(linear)[self.first] @ linear.start)

    def title(self) -> str:
        """A description in one line."""
        return (
            f"finite-state controller: {counted(len(self), 'node')}, "
            f"{counted(len(self.action_names), 'action')}, "
            f"{counted(len(self.observation_names), 'observation')}"
        )

    def facts(self) -> list[tuple[str, str]]:
        """The number of nodes per action, and the first node."""
        taken = np.bincount(self.actions, minlength=len(self.action_names))
        nodes = [f"{name} ({taken[a]})" for a, name in enumerate(self.action_names) if taken[a] > 0]
        begins = f"node {self.first}, {self.action_names[int(self.actions[self.first])]}"
        return [
            ("first", begins),
            ("nodes by action", some(nodes)),
            ("observations", some(self.observation_names)),
        ]

    def check(self, model: POMDP | LinearModel) -> None:
        """Refuse a model whose actions or observations are not the controller's."""
        model = as_model(model)
        for kind, mine, theirs in (
            ("actions", self.action_names, model.actions),
            ("observations", self.observation_names, model.observations),
        ):
            if mine != theirs:
                raise ModelError(
                    f"the controller has the {kind} {', '.join(mine)}, expected those of the "
                    f"model, in its order: {', '.join(theirs)}"
                )


class ControllerPolicy(Shown, Policy):
    """A running controller; its memory is the current node."""

    def __init__(self, controller: FiniteStateController) -> None:
        self.controller = controller
        self._node = controller.first

    @property
    def memory(self) -> Floats:
        """The current node, (1,)."""
        return np.array([float(self._node)])

    def reset(self) -> None:
        """Return to the start."""
        self._node = self.controller.first

    def act(self) -> int:
        """The action of the node."""
        return int(self.controller.actions[self._node])

    def update(self, action: Label, observation: Label) -> None:
        """Move on by an observation; the action must be the node's. Names or indices."""
        controller = self.controller
        taken = index_of(controller.action_names, action, "action")
        if taken != self.act():
            names = controller.action_names
            raise ModelError(
                f"the controller chose action {names[self.act()]!r}, but `update` received action "
                f"{names[taken]!r}; a controller can follow only its own actions"
            )
        seen = observed(controller.observation_names, observation)
        self._node = controller.after(self._node, seen)

    def title(self) -> str:
        """A description in one line."""
        return f"policy that follows a controller of {counted(len(self.controller), 'node')}"

    def facts(self) -> list[tuple[str, str]]:
        """The current node and its action."""
        action = self.controller.action_names[self.act()]
        return [("node", str(self._node)), ("next action", action)]


def extract_controller(solution: Solution) -> FiniteStateController:
    """The finite-state controller of an infinite-horizon value function.

    If the solution has successors, as those of all planners of rpsr, its vectors are the nodes, and
    the controller has at least the solution's lower bound as its value. For other planners, nodes
    are found from the start: the first state at which a vector is best is its witness, and a
    look-ahead at the witness gives action and successors. That controller may have a lower value,
    because one vector can be best at states with different successors. Its value, `value(model)`,
    is exact in both cases.
    """
    given: Any = solution
    if not isinstance(given, Solution):
        raise wrong_type(given, "solution", "a plan, as `solve` returns it")
    model = solution.model
    if solution.horizon is not None:
        raise ModelError("a plan for a finite horizon is a policy tree, not a controller")
    names = (model.actions, model.observations)
    first = int((solution.vectors @ model.start).argmax())
    if (solution.successors >= 0).any(axis=1).all():
        return FiniteStateController(*names, solution.actions, solution.successors, first)
    policy = solution.value_function.policy(model)
    witnesses, order = {first: model.start}, [first]
    actions: list[int] = []
    successors: list[list[int]] = []
    for vector in order:  # grows as successors are found
        x = witnesses[vector]
        action = policy.action_at(x)
        following: list[int] = []
        for o in range(len(model.observations)):
            after, chance = model.moved(x, action, o)
            if chance <= model.rounding:
                following.append(-1)
                continue
            best = int((solution.vectors @ after).argmax())
            if best not in witnesses:
                witnesses[best] = after / chance
                order.append(best)
            following.append(order.index(best))
        actions.append(action)
        successors.append(following)
    return FiniteStateController(*names, np.array(actions), np.array(successors), 0)
