"""Exact beliefs of the nodes of a search, in integers, to decide whether an edge is exact.

The stored belief of a node is rounded, and beliefs that are close share a node. The exact belief of
a node is the start, a corner, or the result of the step that created it, computed from the exact
belief before that step. An edge is exact if its step leads to the exact belief of its node.
"""

from __future__ import annotations

from math import gcd, lcm

import numpy as np

from rpsr.io.records import Ints, Record
from rpsr.planning.anytime.belief_graph import Graph

LONGEST = 4096  # bits of a weight: beliefs of longer ones count as inexact

Belief = tuple[tuple[int, ...], tuple[int, ...]]  # states, ascending, and weights without a divisor


class ExactBeliefs:
    """The exact beliefs of nodes, computed when needed and kept.

    record: the POMDP whose states are the corners. planted: the exact beliefs of nodes that no edge
    created.
    """

    def __init__(self, record: Record, planted: dict[int, Belief | None]) -> None:
        self.record = record
        self.known: dict[int, Belief | None] = dict(planted)
        self.judged: dict[int, bool] = {}  # edges
        self.rows: dict[tuple[int, int], dict[int, list[tuple[int, int, int]]]] = {}

    def exact(self, graph: Graph, creator: Ints, owner: Ints, edge: int) -> bool:
        """Whether an edge leads to the exact belief of its node.

        creator (N,): the edge that created each node. owner (M,): the point of each edge.
        """
        if edge not in self.judged:
            child = int(graph.edge[edge]["child"])
            meant = self._belief(graph, creator, owner, child)
            reached = self._after(graph, creator, owner, edge)
            self.judged[edge] = meant is not None and meant == reached
        return self.judged[edge]

    def _belief(self, graph: Graph, creator: Ints, owner: Ints, node: int) -> Belief | None:
        """The exact belief of a node; None if its weights are too long."""
        chain: list[int] = []
        while node not in self.known:
            chain.append(node)
            node = int(graph.point[owner[creator[node]]]["node"])
        for node in reversed(chain):
            self.known[node] = self._after(graph, creator, owner, int(creator[node]))
        return self.known[chain[0] if chain else node]

    def _after(self, graph: Graph, creator: Ints, owner: Ints, edge: int) -> Belief | None:
        """The exact belief after the step of an edge."""
        before = self._belief(graph, creator, owner, int(graph.point[owner[edge]]["node"]))
        if before is None:
            return None
        action, seen = int(graph.edge[edge]["action"]), int(graph.edge[edge]["observation"])
        terms: list[tuple[int, int, int]] = []  # state, numerator, denominator
        for state, weight in zip(*before, strict=True):
            for target, above, below in self._row(action, state).get(seen, ()):
                terms.append((target, weight * above, below))
        common = lcm(*(below for _, _, below in terms))
        totals: dict[int, int] = {}
        for target, above, below in terms:
            totals[target] = totals.get(target, 0) + above * (common // below)
        return reduced(totals)

    def _row(self, action: int, state: int) -> dict[int, list[tuple[int, int, int]]]:
        """The moves from a state by observation: the next state, and its probability."""
        if (action, state) not in self.rows:
            record, found = self.record, dict[int, list[tuple[int, int, int]]]()
            moves, emission = record.transition, record.emission
            assert moves.weights is not None
            assert emission.weights is not None
            row = action * moves.width + state
            span = range(int(moves.indptr[row]), int(moves.indptr[row + 1]))
            whole = sum(int(moves.weights[m]) for m in span)
            for m in span:
                target = int(moves.indices[m])
                shown = m if record.emission_by_edge else action * moves.width + target
                seen = range(int(emission.indptr[shown]), int(emission.indptr[shown + 1]))
                half = sum(int(emission.weights[e]) for e in seen)
                for e in seen:
                    above = int(moves.weights[m]) * int(emission.weights[e])
                    if above:
                        part = (target, above, whole * half)
                        found.setdefault(int(emission.indices[e]), []).append(part)
            self.rows[action, state] = found
        return self.rows[action, state]


def reduced(totals: dict[int, int]) -> Belief | None:
    """Weights by state without a common divisor; None if one is too long."""
    divisor = gcd(*totals.values())
    states = tuple(sorted(totals))
    weights = tuple(totals[state] // divisor for state in states)
    if max(weights).bit_length() > LONGEST:
        return None
    return states, weights


def planted_beliefs(record: Record, root: int, mixed: int) -> dict[int, Belief | None]:
    """The exact beliefs of the corners, the start and the mixture of all corners."""
    n_states, start = len(record.states), record.start
    assert start.weights is not None
    beliefs: dict[int, Belief | None] = {s: ((s,), (1,)) for s in range(n_states)}
    beliefs[mixed] = tuple(range(n_states)), (1,) * n_states
    weights = dict(zip(start.indices.tolist(), map(int, start.weights.tolist()), strict=True))
    found = reduced({state: weight for state, weight in weights.items() if weight})
    beliefs[root] = found  # None if its weights are too long, also where it is the mixture
    return beliefs


def creators(graph: Graph) -> Ints:
    """The first edge that leads to each node, (N,); for nodes created by one, that edge."""
    child = graph.edge["child"][: graph.counts["edges"]]
    first = np.zeros(int(graph.counts["nodes"]), dtype=np.int64)
    nodes, at = np.unique(child, return_index=True)
    first[nodes] = at
    return first
