"""The values of a controller's nodes, from linear equations.

The value of node i is linear in the state, alpha_i = R[:, a_i] + discount * sum_o M[a_i, o]
alpha_succ(i, o): K n linear equations in K n unknowns, solved directly if that is cheap, else by
iteration (see `linear_systems`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from rpsr.io.records import Floats, Ints
from rpsr.models.linear import LinearModel
from rpsr.models.operators import Sparse, SparseOperators, StackedProcess, entries_of
from rpsr.planning.limits import Clock, LimitReached
from rpsr.planning.linear_systems import SMALL, Enough, iterated

_DIRECT = 2**21  # numbers in the linear system: beyond, it is never formed
_REFINEMENTS = 3
_PART, _MOST_PARTS = 64, 256  # nodes of a part of a sweep at least, and parts at most
_AT_ONCE = 2**17  # numbers gathered between two checks of the clock


class Equations:
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
