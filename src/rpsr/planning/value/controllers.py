"""Finite-state controllers: each node has an action, and a successor for each observation.

The value of node i is linear in the state, alpha_i = R[:, a_i] + discount * sum_o M[a_i, o]
alpha_succ(i, o): K n linear equations in K n unknowns, solved directly if that is cheap, else by
iteration (see `linear_systems`), on a belief model, a PSR or an R-PSR.

Reference: E. A. Hansen, "Solving POMDPs by searching in policy space", UAI 1998.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from rpsr.errors import InputError, ModelError
from rpsr.io.records import Floats, Ints
from rpsr.models.as_model import as_linear, as_model, wrong_type
from rpsr.models.labels import Label, index_of, observed
from rpsr.models.linear import LinearModel
from rpsr.models.operators import Sparse, SparseOperators, StackedProcess, entries_of
from rpsr.models.pomdp import POMDP
from rpsr.planning.convergence import infinite_discount, undiscounted
from rpsr.planning.limits import Clock, LimitReached, no_limits
from rpsr.planning.linear_systems import SMALL, Enough, iterated
from rpsr.planning.solution import Solution
from rpsr.planning.value.policies import Policy
from rpsr.planning.value.sums_to_the_end import sum_at_start, sums_to_the_end
from rpsr.showing import Shown, counted, some

_DIRECT = 2**21  # numbers in the linear system: beyond, it is never formed
_REFINEMENTS = 3
_PART, _MOST_PARTS = 64, 256  # nodes of a part of a sweep at least, and parts at most
_AT_ONCE = 2**17  # numbers gathered between two checks of the clock


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

    def _equations(self, model: LinearModel) -> _Equations:
        self.check(model)
        successors = np.where(self.successors < 0, self.first, self.successors)
        return _Equations(model, self.actions, successors, infinite_discount(model))

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


class _Equations:
    """V = R + discount * (what follows), for all nodes at once; V is (K, n)."""

    def __init__(
        self, model: LinearModel, actions: Ints, successors: Ints, discount: float
    ) -> None:
        self.model, self.actions, self.successors = model, actions, successors
        self.discount = discount
        self.rewards = np.ascontiguousarray(model.rewards[:, actions].T)

    @cached_property
    def _parts(self) -> list[slice]:
        """The nodes in order of their numbers, in parts of about one size."""
        n_nodes = len(self.actions)
        size = max(_PART, -(-n_nodes // _MOST_PARTS))
        return [slice(i, min(i + size, n_nodes)) for i in range(0, n_nodes, size)]

    def _groups(self, part: slice) -> list[tuple[int, int, Ints, Ints]]:
        """Nodes of a part with the same action, and their successors after an observation."""
        return [
            (a, o, nodes, self.successors[nodes, o])
            for a, nodes in self._by_action(part)
            for o in range(len(self.model.observations))
        ]

    def _by_action(self, part: slice) -> list[tuple[int, Ints]]:
        """The actions that nodes of a part take, and which nodes."""
        return [
            (a, part.start + np.flatnonzero(self.actions[part] == a))
            for a in np.unique(self.actions[part]).tolist()
        ]

    def following(self, vectors: Floats) -> Floats:
        """discount * sum_o M[a_i, o] vectors[succ(i, o)], (K, n) -> (K, n)."""
        return np.concatenate([self._follow(vectors, part, None) for part in self._parts])

    def swept(self, vectors: Floats, earned: Floats, clock: Clock | None) -> Floats:
        """earned + `following`, part by part, each using the new values of those before it.

        So one sweep carries a value through many parts. Planners number nodes in the order of
        discovery: most successors have smaller numbers than their node.
        """
        vectors = vectors.copy()
        for part in self._parts:
            vectors[part] = earned[part] + self._follow(vectors, part, clock)
        return vectors

    def _follow(self, vectors: Floats, part: slice, clock: Clock | None) -> Floats:
        """`following` for P nodes, (P, n)."""
        total = np.zeros((part.stop - part.start, vectors.shape[1]))
        if isinstance(self.model.operators, SparseOperators):
            for a, nodes in self._by_action(part):
                moves, observation, column = self._outcomes[a]
                at_once = max(1, _AT_ONCE // max(1, len(column)))
                for some_nodes in np.split(nodes, range(at_once, len(nodes), at_once)):
                    if clock is not None:
                        clock.check()
                    after = vectors[self.successors[some_nodes][:, observation], column]
                    total[some_nodes - part.start] = (moves @ after.T).T
        else:
            for a, o, nodes, after in self._groups(part):
                if clock is not None:
                    clock.check()
                total[nodes - part.start] += self.model.operators.right(vectors[after], a, o)
        return self.discount * total

    @cached_property
    def _outcomes(self) -> list[tuple[Sparse, Ints, Ints]]:
        """Per action: the U possible pairs (o, s'), (U,) and (U,), and probabilities (n, U)."""
        process, n = self.model.operators.as_process(), self.model.dimension
        entries = entries_of(process)
        ends = np.searchsorted(entries.action, np.arange(len(self.model.actions) + 1))
        tables: list[tuple[Sparse, Ints, Ints]] = []
        for begin, end in pairwise(ends.tolist()):
            part = slice(begin, end)
            pairs = entries.observation[part] * n + entries.column[part]
            pairs, place = np.unique(pairs, return_inverse=True)
            shape = (n, len(pairs))
            moves = sp.csr_array((entries.value[part], (entries.row[part], place)), shape=shape)
            tables.append((moves, pairs // n, pairs % n))
        return tables

    def solve(self, clock: Clock, enough: Enough | None = None) -> Floats:
        """The vectors, (K, n), up to rounding; by iteration, until `enough` accepts them."""
        shape, earned = self.rewards.shape, self.rewards.ravel()
        small = earned.size <= SMALL or clock.time_limit is None
        inverse = self._direct() if small else None
        if inverse is None:
            return self._iterated(clock, enough)
        values = np.zeros(earned.size)
        for _ in range(_REFINEMENTS):
            following = self.following(values.reshape(shape)).ravel()
            values = values + inverse(earned + following - values)
        return values.reshape(shape)

    def _iterated(self, clock: Clock, enough: Enough | None) -> Floats:
        """The same by iteration: the fixed point of a sweep is that of the equations."""
        nothing = np.zeros_like(self.rewards)

        def sweep(flat: Floats) -> Floats:
            return self.swept(flat.reshape(nothing.shape), nothing, clock).ravel()

        begin = self._worst()
        try:
            earned = self.swept(nothing, self.rewards, clock).ravel()
        except LimitReached:
            return begin.reshape(nothing.shape)
        values, _ = iterated(sweep, earned, clock, begin, enough=enough)
        return values.reshape(nothing.shape)

    def _worst(self) -> Floats:
        """The initial values: the least reward at every step, below every node's value."""
        model = self.model
        domain = model.domain
        rewards = domain.at_corners(model.rewards) if domain.known else model.rewards
        least = float(rewards.min()) / (1 - self.discount)
        return np.tile(least * model.normalizer, len(self.rewards))

    def _direct(self) -> Callable[[Floats], Floats] | None:
        n_nodes, n = self.rewards.shape
        operators = self.model.operators
        if isinstance(operators, SparseOperators) and isinstance(operators.process, StackedProcess):
            return None
        groups = self._groups(slice(0, n_nodes))
        if isinstance(operators, SparseOperators):
            blocks = [operators.process[a][o] for a, o, _, _ in groups]
        elif n_nodes * n * n * len(self.model.observations) > _DIRECT:
            return None
        else:
            blocks = [sp.csr_array(operators.matrix(a, o)) for a, o, _, _ in groups]
        sizes = [
            block.nnz * len(nodes) for block, (_, _, nodes, _) in zip(blocks, groups, strict=True)
        ]
        if sum(sizes) > _DIRECT:
            return None
        moves = sp.csr_array((n_nodes * n, n_nodes * n))
        for block, (_, _, nodes, after) in zip(blocks, groups, strict=True):
            chosen = sp.csr_array((np.ones(len(nodes)), (nodes, after)), shape=(n_nodes, n_nodes))
            moves = moves + sp.kron(chosen, block, format="csr")
        system = sp.csc_array(sp.eye_array(n_nodes * n) - self.discount * moves)
        return splu(system).solve
