"""The graph of the states reachable from the start, if they are finitely many.

Nodes are states of a linear model; an edge is one possible outcome of one action. States that are
equal up to rounding must become one node, so states closer than a tolerance are merged, and an edge
to a merged state stores the displacement. Its effect is bounded: if x' - x = w C with C the corners
of the domain, and values there lie between l and u, then

    |V(x') - V(x)| <= (u - l) / 2 * |w|_1,

since V is a maximum of linear functions and the weights w sum to zero. `Edges.shift` is |w|_1,
rounding included; users of the graph add up its cost in value.

In rotated coordinates probabilities have small errors, and outcomes whose probability is at most
`LinearModel.rounding` are dropped, since their states would be noise. `ReachableGraph.lost` is the
probability that an action may lose by both; users of the graph treat it as if it led to the best,
or the worst, possible value.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from rpsr.errors import ModelError
from rpsr.io.records import Bools, Floats, Ints
from rpsr.models.linear import LinearModel
from rpsr.models.operators import Sparse
from rpsr.models.rounding import chained, weighted_mean
from rpsr.planning.finite_mdp import FiniteProblem
from rpsr.planning.limits import Clock, LimitReached, no_limits
from rpsr.planning.reachable.state_set import StateTable
from rpsr.planning.solution import Status

LIMIT = 10_000
TOLERANCE = 1e-9
OPERATIONS = 1e5  # an estimate of the cost of finding a state among the others
EDGE = 7  # numbers that describe an edge while the graph is built


@dataclass(frozen=True, eq=False)
class Edges:
    """The E edges of a graph of states: possible outcomes of actions, as parallel arrays (E,).

    moved: how far merging displaced the reached state, in its largest coordinate. shift: the same
    displacement as weights of corners, in the 1-norm; None if the corners are unknown.
    """

    source: Ints
    action: Ints
    observation: Ints
    target: Ints
    probability: Floats
    moved: Floats
    shift: Floats | None


@dataclass(frozen=True, eq=False)
class ReachableGraph:
    """The states that are reachable from the start, and the moves between them.

    states (N, n): the start is the first. depth (N,): steps from the start. open (N,): whether a
    state's successors were not explored. lost (N, A): a bound on the error of the total probability
    of an action's edges. stopped: the limit that ended the exploration early, or None;
    `Status.SIZE` is the limit on the number of states.
    """

    model: LinearModel
    states: Floats
    depth: Ints
    open: Bools
    edges: Edges
    lost: Floats
    stopped: Status | None = None

    def transitions(self) -> Sparse:
        """Probabilities of moving, sparse (A * N, N): row a * N + i is state i under action a."""
        edges, n_states, n_actions = self.edges, len(self.states), len(self.model.actions)
        parts = (edges.probability, (edges.action * n_states + edges.source, edges.target))
        return sp.csr_array(sp.coo_array(parts, shape=(n_actions * n_states, n_states)))

    def problem(
        self, rewards: Floats, discount: float, allowed: Bools | None = None
    ) -> FiniteProblem:
        """The decision problem on the graph with rewards (N, A); allowed (N, A): all by default."""
        allowed = np.ones(rewards.shape, dtype=np.bool_) if allowed is None else allowed
        return FiniteProblem(self.transitions(), rewards, allowed, discount)

    def per_choice(self, amounts: Floats) -> Floats:
        """Amounts (E,) on edges, summed with the edges' probabilities: (N, A)."""
        n_states, n_actions = len(self.states), len(self.model.actions)
        cell = self.edges.source * n_actions + self.edges.action
        summed = np.zeros(n_states * n_actions)
        np.add.at(summed, cell, self.edges.probability * amounts)
        return summed.reshape(n_states, n_actions)

    def successors(self, actions: Ints, chosen: Ints | None = None) -> Ints:
        """The successors of states under their actions (N,), (N, O); -1: impossible.

        chosen (K,): a row for each of these states only.
        """
        chosen = np.arange(len(self.states)) if chosen is None else chosen
        row = np.full(len(self.states), -1)
        row[chosen] = np.arange(len(chosen))
        edges = self.edges
        table = np.full((len(chosen), len(self.model.observations)), -1, dtype=np.int64)
        used = (edges.action == actions[edges.source]) & (row[edges.source] >= 0)
        table[row[edges.source[used]], edges.observation[used]] = edges.target[used]
        return table

    def met(self, actions: Ints, most: int) -> Ints:
        """Explored states that actions (N,) reach from the start, nearest first, at most `most`.

        The start is the first of them.
        """
        edges = self.edges
        used = edges.action == actions[edges.source]
        source, target = edges.source[used], edges.target[used]
        ends = np.searchsorted(source, np.arange(len(self.states) + 1))  # ordered by source
        reached, seen = [0], {0}
        for state in reached:  # grows during the loop
            for after in target[ends[state] : ends[state + 1]].tolist():
                if after not in seen and not self.open[after] and len(reached) < most:
                    seen.add(after)
                    reached.append(after)
        return np.array(reached)


def explore(
    model: LinearModel,
    *,
    limit: int = LIMIT,
    steps: int | None = None,
    tolerance: float = TOLERANCE,
    allowed: Callable[[Floats], Bools] | None = None,
    partial: bool = False,
    clock: Clock | None = None,
) -> ReachableGraph:
    """The graph of states within `steps` of the start; by default of all reachable states.

    allowed: which actions to follow from a batch of states, (B, n) -> (B, A); all by default.
    More than `limit` states or the limits of a clock are a `ModelError`; with `partial`, the
    unfinished graph is returned, with unexplored states marked open, and an interrupt counts as a
    limit.
    """
    exploration = Exploration(model, tolerance)
    return exploration.run(
        clock or no_limits(), limit=limit, steps=steps, allowed=allowed, partial=partial
    )


class Exploration:
    """Breadth-first search from the start; `graph` is the graph of the levels that are complete.

    The numbers of nodes and edges are kept for every complete level, and all else follows from
    them. So an interrupt, or a look at the graph in the middle of a level, does no harm.
    """

    def __init__(self, model: LinearModel, tolerance: float = TOLERANCE) -> None:
        self.model = model
        self._builder = _Builder(model, tolerance)
        self._levels = [self._builder.size]

    @property
    def _frontier(self) -> Ints:
        """The states of the last complete level."""
        begin = self._levels[-2][0] if len(self._levels) > 1 else 0
        return np.arange(begin, self._levels[-1][0])

    def run(
        self,
        clock: Clock,
        *,
        limit: int = LIMIT,
        steps: int | None = None,
        allowed: Callable[[Floats], Bools] | None = None,
        partial: bool = False,
    ) -> ReachableGraph:
        """Explore to the end; see `explore`."""
        model, stopped = self.model, None
        clock = replace(clock)  # the model counts while exploring
        clock.hold_model(int(model.start.nbytes) + int(model.rewards.nbytes))
        try:
            while len(self._frontier) and (steps is None or len(self._levels) <= steps):
                self._expand(clock, limit, allowed)
                self._levels.append(self._builder.size)
        except LimitReached as reached:
            stopped = reached.status
        except KeyboardInterrupt:
            if not partial:
                raise
            stopped = Status.INTERRUPTED
        if stopped is not None and not partial:
            limits = limit, clock.time_limit, clock.memory_limit
            raise not_closed(model, stopped, len(self._levels) - 1, *limits)
        return self.graph(stopped)

    def _expand(self, clock: Clock, limit: int, allowed: Callable[[Floats], Bools] | None) -> None:
        """Add all that follows the frontier; `LimitReached` at a limit."""
        builder, frontier = self._builder, self._frontier
        size = self.model.dimension
        follow = None if allowed is None else allowed(builder.table[frontier])
        for a, o in np.argwhere(self.model.emissions.any(axis=1)).tolist():  # others: impossible
            sources = frontier if follow is None else frontier[follow[:, a]]
            clock.claim(builder.nbytes + 2 * 8 * size * len(frontier))
            for part in clock.parts(len(sources), OPERATIONS + 2.0 * size):
                builder.expand(builder.table[sources[part]], sources[part], a, o)
                if len(builder.table) > limit:
                    raise LimitReached(Status.SIZE)
            clock.check()

    def graph(self, stopped: Status | None) -> ReachableGraph:
        """The graph so far; stopped: why it is not complete."""
        nodes, edges = self._levels[-1]
        unexplored = np.zeros(nodes, dtype=np.bool_)
        unexplored[self._frontier] = True
        sizes = np.diff([0, *(size for size, _ in self._levels)])
        lost = self._builder.lost[:nodes]
        lost[unexplored] = 0.0
        return ReachableGraph(
            self.model,
            self._builder.table[np.arange(nodes)],
            np.repeat(np.arange(len(sizes)), sizes),
            unexplored,
            self._builder.edges(edges),
            lost,
            stopped,
        )


def not_closed(
    model: LinearModel,
    stopped: Status,
    level: int,
    limit: int,
    time_limit: float | None,
    memory_limit: int | None,
) -> ModelError:
    """The error if exploration does not end within a limit."""
    reached = f"{limit} states"
    if stopped is Status.TIME:
        reached = f"{time_limit:g} seconds"
    elif stopped is Status.MEMORY:
        reached = f"{memory_limit} bytes"
    return ModelError(
        f"exploring the reachable states of {model.name} did not end within {reached} and "
        f"{level} steps: use a planner that does not enumerate reachable states"
    )


class _Builder:
    """Collects nodes and edges."""

    def __init__(self, model: LinearModel, tolerance: float) -> None:
        self.model = model
        self.table = StateTable(model.start, tolerance)
        self._edges = array("d")  # one row of EDGE numbers each
        self._lost = array("d")  # one row of A numbers per node
        n, points = model.dimension, model.domain.points
        self._weights = None if points is None else np.linalg.pinv(points)
        if not model.domain.known:
            self._rounding = np.nan, np.nan
        elif points is None:
            # Sums and quotients of non-negative numbers: relative errors, state by state.
            self._rounding = weighted_mean(n), 0.0
        elif points.min() >= 0:  # the same, summed at the corners
            self._rounding = weighted_mean(n + len(points)), 0.0
        else:
            # The errors of an unnormalised state, a sum of n + k products with the error of its
            # basis, and of its mass; twice, because `hidden` halves shifts.
            terms = n + len(points)
            self._rounding = 0.0, 2 * (chained(terms, terms) + 2 * model.domain.error)

    @property
    def size(self) -> tuple[int, int]:
        """The number of nodes and edges."""
        return len(self.table), len(self._edges) // EDGE

    @property
    def nbytes(self) -> int:
        """Bytes of nodes and edges, and of the decision problem."""
        nodes, edges = self.size
        problem = nodes * (self.model.rewards.shape[1] * 4 + 3 * self.model.dimension) + 3 * edges
        return 2 * self.table.nbytes + 2 * self._edges.itemsize * len(self._edges) + 8 * problem

    def expand(self, states: Floats, sources: Ints, action: int, observation: int) -> None:
        """Add the edges of one action and observation from a batch of states."""
        after, mass = self.model.moved(states, action, observation)
        possible = mass > self.model.rounding
        self._lose(sources, action, observation, np.where(possible, 0.0, np.maximum(mass, 0.0)))
        for row in np.flatnonzero(possible).tolist():
            chance = float(mass[row])
            state = after[row] / chance
            target = self.table.find(state)
            shift = self._rounding[0] + self._rounding[1] / chance
            moved = 0.0
            if target < 0:
                target = self.table.add(state)
            else:
                difference = state - self.table[target]
                moved = float(np.abs(difference).max())
                if moved > 0:
                    back = difference if self._weights is None else difference @ self._weights
                    shift += float(np.abs(back).sum())
            edge = (sources[row], action, observation, target, chance, moved, shift)
            self._edges.extend(edge)

    def _lose(self, sources: Ints, action: int, observation: int, dropped: Floats) -> None:
        """Record the possible error of an outcome's probability, from each source.

        dropped (B,): probabilities dropped as impossible. Outcomes impossible at all corners are.
        """
        kernel, n_actions = self.model.domain.kernel, len(self.model.actions)
        if kernel is None or self._rounding[1] == 0:
            return
        if kernel[action][observation].nnz:
            missing = len(self.table) * n_actions - len(self._lost)
            self._lost.extend([0.0] * missing)
            for source, amount in zip(sources.tolist(), dropped.tolist(), strict=True):
                self._lost[source * n_actions + action] += amount + self._rounding[1]

    @property
    def lost(self) -> Floats:
        """The largest error of the total probability of each node's actions, (N, A)."""
        table = np.zeros((len(self.table), len(self.model.actions)))
        table.reshape(-1)[: len(self._lost)] = self._lost
        return table

    def edges(self, count: int) -> Edges:
        """The first edges, in order of source, action and observation."""
        table = np.array(self._edges[: count * EDGE], dtype=np.float64).reshape(-1, EDGE)
        order = np.lexsort((table[:, 2], table[:, 1], table[:, 0]))
        source, action, observation, target, chance, moved, shift = table[order].T
        known = self.model.domain.known
        return Edges(
            source.astype(np.int64),
            action.astype(np.int64),
            observation.astype(np.int64),
            target.astype(np.int64),
            chance,
            moved,
            shift if known else None,
        )
