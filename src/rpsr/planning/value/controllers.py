"""Finite-state controllers: a node says what to do, an observation says where to go on.

The value of node i is linear in the state, alpha_i = R[:, a_i] + discount * sum_o M[a_i, o]
alpha_succ(i, o): K n linear equations in K n unknowns, solved directly where that is cheap and by
iteration where it is not (see `discounted`), on the belief model, a PSR or an R-PSR alike.

Reference: E. A. Hansen, "Solving POMDPs by searching in policy space", UAI 1998.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from rpsr.errors import InputError, ModelError
from rpsr.io.records import Floats, Ints
from rpsr.models.given import as_linear, as_model, wrong_type
from rpsr.models.labels import Label, index_of
from rpsr.models.linear import LinearModel
from rpsr.models.operators import SparseOperators, StackedProcess
from rpsr.models.pomdp import POMDP
from rpsr.planning.discounted import SMALL, iterated
from rpsr.planning.discounts import infinite_discount
from rpsr.planning.limits import Clock, no_limits
from rpsr.planning.solution import Solution
from rpsr.planning.value.policies import AlphaPolicy, Policy
from rpsr.showing import Shown, counted, some

_DIRECT = 2**21  # numbers in the linear system: beyond, it is never formed
_REFINEMENTS = 3


@dataclass(frozen=True, eq=False, repr=False)
class FiniteStateController(Shown):
    """K nodes with actions (K,) and successors (K, O), begun in node `first`.

    A successor of -1 stands for an observation that was never expected: should it come, the
    controller begins again. Names are those of the model it is for.
    """

    action_names: tuple[str, ...]
    observation_names: tuple[str, ...]
    actions: Ints
    successors: Ints
    first: int = 0

    def __post_init__(self) -> None:
        n_nodes, n_observations = len(self.actions), len(self.observation_names)
        if self.successors.shape != (n_nodes, n_observations) or n_nodes == 0:
            expected = (n_nodes, n_observations)
            raise InputError(f"successors: read shape {self.successors.shape}, expected {expected}")
        for what, numbers, low, high in (
            ("actions", self.actions, 0, len(self.action_names)),
            ("successors", self.successors, -1, n_nodes),
            ("first", np.array([self.first]), 0, n_nodes),
        ):
            if numbers.min() < low or numbers.max() >= high:
                raise InputError(f"{what}: expected numbers from {low} to {high - 1}")

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
        """The value of every node in every state of a model, (K, n), exactly but for rounding.

        clock: ends it early, and `excess` then says how far the vectors may be off.
        """
        linear = as_linear(model)
        self.check(linear)
        discount = infinite_discount(linear)
        successors = np.where(self.successors < 0, self.first, self.successors)
        equations = _Equations(linear, self.actions, successors, discount)
        return equations.solve(clock or no_limits())

    def value(self, model: POMDP | LinearModel) -> float:
        """The value at a model's start."""
        linear = as_linear(model)
        return float(self.vectors(linear)[self.first] @ linear.start)

    def title(self) -> str:
        """What it is, in one line."""
        return (
            f"finite-state controller: {counted(len(self), 'node')}, "
            f"{counted(len(self.action_names), 'action')}, "
            f"{counted(len(self.observation_names), 'observation')}"
        )

    def facts(self) -> list[tuple[str, str]]:
        """Which nodes take which action, and where it begins."""
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
                raise ModelError(f"the controller's {kind} are {mine}, the model's are {theirs}")


class ControllerPolicy(Shown, Policy):
    """A controller being followed: its memory is its node."""

    def __init__(self, controller: FiniteStateController) -> None:
        self.controller = controller
        self._node = controller.first

    @property
    def memory(self) -> Floats:
        """What, with the controller, determines everything to come: the node, (1,)."""
        return np.array([float(self._node)])

    def reset(self) -> None:
        """Forget the history."""
        self._node = self.controller.first

    def act(self) -> int:
        """The action of the node."""
        return int(self.controller.actions[self._node])

    def update(self, action: Label, observation: Label) -> None:
        """Go on to the node for an observation; the action must be the node's own."""
        controller = self.controller
        taken = index_of(controller.action_names, action, "action")
        if taken != self.act():
            names = controller.action_names
            raise ModelError(
                f"the controller chose {names[self.act()]!r}, update was given {names[taken]!r}: "
                "it only knows what follows its own actions"
            )
        seen = index_of(controller.observation_names, observation, "observation")
        self._node = controller.after(self._node, seen)

    def title(self) -> str:
        """What it is, in one line."""
        return f"policy that follows a controller of {counted(len(self.controller), 'node')}"

    def facts(self) -> list[tuple[str, str]]:
        """Where it is and what it does next."""
        action = self.controller.action_names[self.act()]
        return [("node", str(self._node)), ("next action", action)]


def extract_controller(solution: Solution) -> FiniteStateController:
    """The controller that a value function for the infinite horizon implies.

    Where the solution says how each vector goes on, its vectors are the nodes, and the controller
    is worth the solution's lower bound; all planners of rpsr say so. For a planner of your own that
    does not, nodes are found from the start: a vector's first state to be best at is its witness,
    and the one-step lookahead at the witness gives action and successors. That controller may be
    worth less, where one vector is best at states that want other successors. Its value,
    `value(model)`, is exact either way.
    """
    given: Any = solution
    if not isinstance(given, Solution):
        raise wrong_type(given, "solution", "a plan")
    model = solution.model
    if solution.horizon is not None:
        raise ModelError("a plan for a finite horizon is a policy tree, not a controller")
    names = (model.actions, model.observations)
    first = int((solution.vectors @ model.start).argmax())
    if (solution.successors >= 0).any(axis=1).all():
        return FiniteStateController(*names, solution.actions, solution.successors, first)
    policy = AlphaPolicy.of(solution)
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


class _Equations:
    """V = R + discount * (what follows), for all nodes at once; V is (K, n)."""

    def __init__(
        self, model: LinearModel, actions: Ints, successors: Ints, discount: float
    ) -> None:
        self.model, self.actions, self.successors = model, actions, successors
        self.discount = discount
        self.rewards = np.ascontiguousarray(model.rewards[:, actions].T)

    @cached_property
    def _groups(self) -> list[tuple[int, int, Ints, Ints]]:
        """Nodes with the same action, and what they continue with after each observation."""
        return [
            (a, o, nodes, self.successors[nodes, o])
            for a in range(len(self.model.actions))
            if len(nodes := np.flatnonzero(self.actions == a))
            for o in range(len(self.model.observations))
        ]

    def following(self, vectors: Floats, clock: Clock | None = None) -> Floats:
        """discount * sum_o M[a_i, o] vectors[succ(i, o)], (K, n) -> (K, n)."""
        total = np.zeros_like(vectors)
        operators = self.model.operators
        if isinstance(operators, SparseOperators) and isinstance(operators.process, StackedProcess):
            entries, n = operators.process.entries, vectors.shape[1]
            ends = np.searchsorted(entries.action, np.arange(len(self.model.actions) + 1))
            for i, a in enumerate(self.actions.tolist()):
                if clock is not None:
                    clock.check()
                part = slice(int(ends[a]), int(ends[a + 1]))
                after = vectors[self.successors[i, entries.observation[part]], entries.column[part]]
                total[i] = np.bincount(entries.row[part], entries.value[part] * after, n)
            return self.discount * total
        for a, o, nodes, after in self._groups:
            if clock is not None:
                clock.check()
            total[nodes] += operators.right(vectors[after], a, o)
        return self.discount * total

    def solve(self, clock: Clock) -> Floats:
        """The vectors, (K, n)."""
        shape, earned = self.rewards.shape, self.rewards.ravel()

        def following(flat: Floats, clock: Clock | None = clock) -> Floats:
            return self.following(flat.reshape(shape), clock).ravel()

        small = earned.size <= SMALL or clock.time_limit is None
        inverse = self._direct() if small else None
        if inverse is None:
            return iterated(following, earned, clock, self._worst())[0].reshape(shape)
        values = np.zeros(earned.size)
        for _ in range(_REFINEMENTS):
            values = values + inverse(earned + following(values, None) - values)
        return values.reshape(shape)

    def _worst(self) -> Floats:
        """Where to begin: the least reward at every step, which is below every node's value."""
        model = self.model
        domain = model.domain
        rewards = domain.at_corners(model.rewards) if domain.known else model.rewards
        least = float(rewards.min()) / (1 - self.discount)
        return np.tile(least * model.normalizer, len(self.rewards))

    def _direct(self) -> Callable[[Floats], Floats] | None:
        n_nodes, n = self.rewards.shape
        operators = self.model.operators
        if isinstance(operators, SparseOperators):
            if isinstance(operators.process, StackedProcess):
                return None
            blocks = [operators.process[a][o] for a, o, _, _ in self._groups]
        elif n_nodes * n * n * len(self.model.observations) > _DIRECT:
            return None
        else:
            blocks = [sp.csr_array(operators.matrix(a, o)) for a, o, _, _ in self._groups]
        sizes = [
            block.nnz * len(nodes)
            for block, (_, _, nodes, _) in zip(blocks, self._groups, strict=True)
        ]
        if sum(sizes) > _DIRECT:
            return None
        moves = sp.csr_array((n_nodes * n, n_nodes * n))
        for block, (_, _, nodes, after) in zip(blocks, self._groups, strict=True):
            chosen = sp.csr_array((np.ones(len(nodes)), (nodes, after)), shape=(n_nodes, n_nodes))
            moves = moves + sp.kron(chosen, block, format="csr")
        system = sp.csc_array(sp.eye_array(n_nodes * n) - self.discount * moves)
        return splu(system).solve
