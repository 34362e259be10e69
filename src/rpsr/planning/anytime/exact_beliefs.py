"""Exact beliefs of the nodes of a search, in integers, to decide whether an edge is exact.

The stored belief of a node is rounded, and beliefs that are close share a node. The exact belief of
a node is the start, a corner, or the result of the step that created it, computed from the exact
belief before that step. An edge is exact if its step leads to the exact belief of its node.
"""

from __future__ import annotations

import numpy as np

from rpsr.io.records import Ints
from rpsr.planning.anytime.belief_graph import Graph
from rpsr.planning.exact_steps import Belief, ExactSteps


class ExactBeliefs:
    """The exact beliefs of nodes, computed when needed and kept.

    process: the exact process of the corners. root, mixed: the nodes of the start and of the
    mixture of all corners.
    """

    def __init__(self, process: ExactSteps, root: int, mixed: int) -> None:
        self.process = process
        self.known = _planted(process, root, mixed)
        self.judged: dict[int, bool] = {}  # edges

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
        return self.process.after(before, action, seen)


def _planted(process: ExactSteps, root: int, mixed: int) -> dict[int, Belief | None]:
    """The exact beliefs of nodes that no edge created: corners, their mixture and the start."""
    corners = range(len(process.first))
    beliefs: dict[int, Belief | None] = {s: ((s,), (1,)) for s in corners}
    beliefs[mixed] = tuple(corners), (1,) * len(corners)
    beliefs[root] = process.start()  # None if too long, also where it is the mixture
    return beliefs


def creators(graph: Graph) -> Ints:
    """The first edge that leads to each node, (N,); for nodes created by one, that edge."""
    child = graph.edge["child"][: graph.counts["edges"]]
    first = np.zeros(int(graph.counts["nodes"]), dtype=np.int64)
    nodes, at = np.unique(child, return_index=True)
    first[nodes] = at
    return first
