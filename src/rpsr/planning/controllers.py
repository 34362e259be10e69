"""Finite-state controllers: a node says what to do, an observation says where to go on.

The value of node i is linear in the state, alpha_i = R[:, a_i] + discount * sum_o M[a_i, o]
alpha_succ(i, o): K n linear equations in K n unknowns. Nodes that lead to each other are solved
together, after those that they lead to: directly where that is cheap and by GMRES where it is not,
with refinement either way, on the belief model, a PSR or an R-PSR alike.

Reference: E. A. Hansen, "Solving POMDPs by searching in policy space", UAI 1998.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, gmres, splu

from rpsr.errors import InputError, ModelError
from rpsr.io.records import Bools, Floats, Ints
from rpsr.models.domain import Corners, Unknown
from rpsr.models.labels import Label, index_of
from rpsr.models.linear import LinearModel
from rpsr.models.operators import SparseOperators
from rpsr.planning.coordinates import to_beliefs
from rpsr.planning.finite import infinite_discount
from rpsr.planning.solution import Solution

_DIRECT = 2**17  # numbers in the linear system: beyond, factors fill in and GMRES is quicker
_BASIS = 2**25  # numbers in the directions that GMRES remembers, 8 to 20 of them
_REFINEMENTS = 5  # at most
_DIGITS = 1e-5  # what one round of GMRES leaves of an error
_ULP = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class FiniteStateController:
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

    def vectors(self, model: LinearModel) -> Floats:
        """The value of every node in every state of a model, (K, n), exactly but for rounding."""
        self.check(model)
        discount = infinite_discount(model)
        successors = np.where(self.successors < 0, self.first, self.successors)
        return _values(model, self.actions, successors, discount)

    def excess(self, model: LinearModel, vectors: Floats) -> float | None:
        """The largest by which a node's vector (K, n) exceeds its own backup, at any corner.

        At least 0 and rounding included, so that vectors, wherever they come from, are at most the
        nodes' values plus this over 1 - discount. None where the domain is unknown.
        """
        if isinstance(model.domain, Unknown):
            return None
        successors = np.where(self.successors < 0, self.first, self.successors)
        equations = _Equations(model, self.actions, successors, infinite_discount(model))
        over = to_beliefs(model, vectors - equations.rewards - equations.following(vectors))
        sizes = np.abs(np.vstack([vectors, model.rewards.T]))
        if isinstance(model.domain, Corners):
            sizes = sizes @ np.abs(model.domain.points).T
        terms = model.dimension + sizes.shape[1] + len(model.observations)
        size = float(sizes[: len(self)].max() + sizes[len(self) :].max())
        return max(0.0, float(over.max())) + 4 * terms * _ULP * size

    def value(self, model: LinearModel) -> float:
        """The value at a model's start."""
        return float(self.vectors(model)[self.first] @ model.start)

    def check(self, model: LinearModel) -> None:
        """Refuse a model whose actions or observations are not the controller's."""
        for kind, mine, theirs in (
            ("actions", self.action_names, model.actions),
            ("observations", self.observation_names, model.observations),
        ):
            if mine != theirs:
                raise ModelError(f"the controller's {kind} are {mine}, the model's are {theirs}")


class ControllerPolicy:
    """A controller being followed: its memory is its node."""

    def __init__(self, controller: FiniteStateController) -> None:
        self.controller = controller
        self._node = controller.first

    @property
    def memory(self) -> Floats:
        """What, with the controller, determines everything to come: the node, (1,)."""
        return np.array([float(self._node)])

    def start(self) -> None:
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
                f"the controller chose {names[self.act()]!r} and was told of {names[taken]!r}: "
                "it only knows what follows its own actions"
            )
        seen = index_of(controller.observation_names, observation, "observation")
        self._node = controller.after(self._node, seen)


def extract_controller(solution: Solution) -> FiniteStateController:
    """The controller that a value function for the infinite horizon implies.

    Where the solution says how each vector goes on, its vectors are the nodes, and the controller
    is worth the solution's lower bound; all planners of rpsr say so. For a planner of your own that
    does not, nodes are found from the start: a vector's first state to be best at is its witness,
    and the one-step lookahead at the witness gives action and successors. That controller may be
    worth less, where one vector is best at states that want other successors. Its value,
    `value(model)`, is exact either way.
    """
    model = solution.model
    if solution.horizon is not None:
        raise ModelError("a plan for a finite horizon is a policy tree, not a controller")
    names = (model.actions, model.observations)
    first = int((solution.vectors @ model.start).argmax())
    if (solution.successors >= 0).any(axis=1).all():
        return FiniteStateController(*names, solution.actions, solution.successors, first)
    from rpsr.planning.policies import AlphaPolicy

    policy = AlphaPolicy.of(solution)
    witnesses, order = {first: model.start}, [first]
    actions: list[int] = []
    successors: list[list[int]] = []
    for vector in order:  # grows as successors are found
        x = witnesses[vector]
        action = policy.action_at(x)
        following: list[int] = []
        for o in range(len(model.observations)):
            after = model.operators.left(x[None], action, o)[0]
            if after @ model.normalizer <= model.rounding:
                following.append(-1)
                continue
            best = int((solution.vectors @ after).argmax())
            if best not in witnesses:
                witnesses[best] = after / (after @ model.normalizer)
                order.append(best)
            following.append(order.index(best))
        actions.append(action)
        successors.append(following)
    return FiniteStateController(*names, np.array(actions), np.array(successors), 0)


def _possible(model: LinearModel) -> Bools:
    """Which observations can follow which actions anywhere, (A, O); all where that is unknown."""
    never = np.logical_not(model.emissions).all(axis=1)
    return ~np.asarray(never) | isinstance(model.domain, Unknown)


def _levels(model: LinearModel, actions: Ints, successors: Ints) -> list[Ints]:
    """The nodes in groups, each of which goes on only within itself and with groups before it.

    Nodes that lead to each other are in one group; those of a group that do not lead to each other
    are there together because they can be solved together.
    """
    size = len(actions)
    possible = _possible(model)[actions]  # (K, O)
    edges = np.unique(np.column_stack([np.nonzero(possible)[0], successors[possible]]), axis=0)
    graph = sp.csr_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(size, size))
    count, part = connected_components(graph, directed=True, connection="strong")
    between = np.unique(part[edges], axis=0)
    between = between[between[:, 0] != between[:, 1]]
    waits = np.bincount(between[:, 0], minlength=count)
    order = np.argsort(between[:, 1], kind="stable")
    begins = np.searchsorted(between[order, 1], np.arange(count + 1))
    ready, levels = np.flatnonzero(waits == 0), list[Ints]()
    while len(ready):
        levels.append(np.flatnonzero(np.isin(part, ready)))
        led_by = np.concatenate([order[begins[p] : begins[p + 1]] for p in ready.tolist()])
        fewer = np.bincount(between[led_by, 0], minlength=count)
        waits -= fewer
        ready = np.flatnonzero((waits == 0) & (fewer > 0))
    return levels


def _values(model: LinearModel, actions: Ints, successors: Ints, discount: float) -> Floats:
    """V = R + discount * (what follows), for all nodes, (K, n), level by level."""
    vectors = np.zeros((len(actions), model.dimension))
    place = np.full(len(actions), -1)
    for nodes in _levels(model, actions, successors):
        place[nodes] = np.arange(len(nodes))
        after = successors[nodes]
        known = _Equations(model, actions[nodes], np.where(place[after] < 0, after, -1), discount)
        inner = _Equations(model, actions[nodes], place[after], discount)
        vectors[nodes] = inner.solve(known.rewards + known.following(vectors))
        place[nodes] = -1
    return vectors


class _Equations:
    """V = R + discount * (what follows), for some nodes at once; V is (K, n).

    A successor of -1 stands for nothing that follows.
    """

    def __init__(
        self, model: LinearModel, actions: Ints, successors: Ints, discount: float
    ) -> None:
        self.model = model
        self.discount = discount
        self.rewards = np.ascontiguousarray(model.rewards[:, actions].T)
        self._groups: list[tuple[int, int, Ints, Ints, Ints]] = []
        possible = _possible(model)
        for a in np.unique(actions).tolist():
            mine = np.flatnonzero(actions == a)
            for o in np.flatnonzero(possible[a]).tolist():
                nodes = mine[successors[mine, o] >= 0]
                if len(nodes):
                    # Many nodes go on with the same ones, each of which is looked at once.
                    after, which = np.unique(successors[nodes, o], return_inverse=True)
                    self._groups.append((a, o, nodes, after, which))

    def following(self, vectors: Floats) -> Floats:
        """discount * sum_o M[a_i, o] vectors[succ(i, o)], (K, n)."""
        total = np.zeros_like(self.rewards)
        for a, o, nodes, after, which in self._groups:
            total[nodes] += self.model.operators.right(vectors[after], a, o)[which]
        return self.discount * total

    def solve(self, earned: Floats) -> Floats:
        """The vectors, (K, n), where nodes earn (K, n) beside what follows."""
        if not self._groups:
            return earned
        inverse = self._direct() or self._iterative()
        vectors = np.zeros(earned.shape)
        for _ in range(_REFINEMENTS):
            remainder = earned + self.following(vectors) - vectors
            if np.abs(remainder).max() <= _ULP * np.abs(vectors).max():
                break
            vectors = vectors + inverse(remainder.ravel()).reshape(earned.shape)
        return vectors

    def _direct(self) -> Callable[[Floats], Floats] | None:
        n_nodes, n = self.rewards.shape
        operators = self.model.operators
        if isinstance(operators, SparseOperators):
            blocks = [operators.process[a][o] for a, o, *_ in self._groups]
        elif n_nodes * n * n * len(self.model.observations) > _DIRECT:
            return None
        else:
            blocks = [sp.csr_array(operators.matrix(a, o)) for a, o, *_ in self._groups]
        sizes = [
            block.nnz * len(nodes)
            for block, (_, _, nodes, *_) in zip(blocks, self._groups, strict=True)
        ]
        if sum(sizes) > _DIRECT:
            return None
        moves = sp.csr_array((n_nodes * n, n_nodes * n))
        for block, (_, _, nodes, after, which) in zip(blocks, self._groups, strict=True):
            parts = (np.ones(len(nodes)), (nodes, after[which]))
            chosen = sp.csr_array(parts, shape=(n_nodes, n_nodes))
            moves = moves + sp.kron(chosen, block, format="csr")
        system = sp.csc_array(sp.eye_array(n_nodes * n) - self.discount * moves)
        return splu(system).solve

    def _iterative(self) -> Callable[[Floats], Floats]:
        shape = self.rewards.shape
        size = shape[0] * shape[1]

        def apply(flat: Floats) -> Floats:
            vectors = flat.reshape(shape)
            return (vectors - self.following(vectors)).ravel()

        operator: Any = LinearOperator  # its stubs know only how to subclass it
        system = operator((size, size), matvec=apply, dtype=np.float64)

        def inverse(right: Floats) -> Floats:
            kept = int(np.clip(_BASIS // size, 8, 20))
            return gmres(system, right, rtol=_DIGITS, restart=kept, maxiter=200)[0]

        return inverse
