"""Points with upper bounds on their values: what an anytime search proves its upper bound by."""

from __future__ import annotations

from dataclasses import dataclass

from rpsr.io.records import Floats, Ints


@dataclass(frozen=True, eq=False)
class Mixtures:
    """N sparse vectors: row i has the entries begin[i] to begin[i] + length[i]."""

    begin: Ints
    length: Ints
    index: Ints
    share: Floats

    def row(self, i: int) -> list[tuple[int, float]]:
        """A row, as pairs of an index and a share."""
        part = slice(int(self.begin[i]), int(self.begin[i] + self.length[i]))
        return list(zip(self.index[part].tolist(), self.share[part].tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class PointBounds:
    """A graph of N nodes (beliefs over S states), P of which are points with bounds on Q.

    beliefs: of the nodes. weights: every node as a mixture of points. node_of (P,): a point's node;
    the first S points are the states. point_of (N,): a node's point, or -1.
    values (P, A): upper bounds on Q. first, last (P,): a point's edges, -1 if it was not expanded.
    action, observation, child, chance (M,): of the edges; chance: a probability times the discount.
    root: the start's node.
    """

    beliefs: Mixtures
    weights: Mixtures
    node_of: Ints
    point_of: Ints
    values: Floats
    first: Ints
    last: Ints
    action: Ints
    observation: Ints
    child: Ints
    chance: Floats
    root: int
