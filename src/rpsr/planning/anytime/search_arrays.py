"""The arrays of an anytime search: made, grown, and counted in bytes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.planning.anytime.belief_graph import (
    BOUND,
    COUNTS,
    EDGE,
    NODE,
    POINT,
    Graph,
    Knobs,
    Scratch,
    interpolate,
    locate,
    plant,
    rehash,
)
from rpsr.planning.anytime.lower_bound import Vectors, scan
from rpsr.planning.anytime.walks import Trail, open_point
from rpsr.planning.corners.corner_model import CornerProcess
from rpsr.planning.limits import Clock, LimitReached, MemoryTooSmall
from rpsr.planning.value.point_bounds import Mixtures, PointBounds

DEEPEST = 2000  # steps of a trial
HASHES = "graph.table"  # grows like the others, but is rehashed


class SearchState:
    """Graph and vectors of a search on a process with k corners; they grow by doubling.

    blind (A, k): the initial vectors, one per action. informed (A, k): Q's at the corners. hint: as
    in `Scratch`.
    """

    def __init__(
        self,
        process: CornerProcess,
        clock: Clock,
        knobs: Knobs,
        blind: Floats,
        informed: Floats,
        hint: Floats,
    ) -> None:
        n_actions, k = process.rewards.shape
        self.clock = clock
        self.moves = process.moves
        self._children, self._joint = n_actions * process.observations, process.observations * k
        self.scratch = Scratch(
            np.zeros(self._joint), np.zeros(self._joint, np.int64), np.full(k, -1), hint
        )
        self.trail = Trail(np.zeros(DEEPEST, np.int64), np.zeros((DEEPEST, 2)))
        nodes, points, rows = k + 2, k + 2, n_actions + 2
        self.graph = Graph(
            counts=np.zeros((), COUNTS)[()],
            corner=np.zeros((2, 3 * k), np.int32),
            share=np.zeros((2, 3 * k)),
            node=np.zeros(nodes, NODE),
            bound=np.zeros(nodes, BOUND),
            table=np.zeros(1 << (2 * nodes).bit_length(), np.int64),
            point=np.zeros(points, POINT),
            value=np.zeros((3 if hint.size else 2, points, n_actions)),
            edge=np.zeros(1, EDGE),
            chance=np.zeros(1),
            pool=np.zeros(points, np.int64),
            gain=np.zeros(points),
        )
        self.vectors = Vectors(
            table=np.zeros((rows, k)),
            column=np.zeros((k, rows)),
            origin=np.arange(rows),
            choice=np.repeat(
                np.arange(rows, dtype=np.int32)[:, None], 1 + process.observations, axis=1
            ),
        )
        needed = self._bytes + sum(size for _, _, size in self._fuller())
        if clock.memory_limit is not None and needed > clock.memory_limit:
            raise MemoryTooSmall(
                f"memory limit: read {clock.memory_limit} bytes, but planning on "
                f"{process.model.name} needs at least {needed}"
            )
        try:
            self._begin(process, knobs, blind, informed)
        except LimitReached:
            raise MemoryTooSmall(
                f"memory limit: read {clock.memory_limit} bytes, but planning on "
                f"{process.model.name} needs more than {self._bytes}"
            ) from None

    def _begin(self, process: CornerProcess, knobs: Knobs, blind: Floats, informed: Floats) -> None:
        """The corners, the start and the mixture of all corners, and the first vectors."""
        n_actions, k = process.rewards.shape
        self.make_room()
        self.vectors.table[:n_actions] = blind
        self.vectors.column[:, :n_actions] = blind.T
        self.graph.counts["vectors"] = self.graph.counts["columns"] = n_actions
        plant(self.graph, self.moves, self.scratch, np.ascontiguousarray(informed.T))
        root = self._node(process.start, knobs.tau)
        self.mixed = mixed = self._node(np.full(k, 1 / k), knobs.tau)
        self.knobs = knobs._replace(root=root, fallback=0)
        fallback = self._open(mixed)
        self.knobs = self.knobs._replace(fallback=fallback)
        self._search_from(root)

    def search_from(self, mixture: Floats) -> None:
        """Search from this mixture of corners, (k,), from now on; an unfinished trial is dropped.

        A mixture within tau of a node is that node.
        """
        self.make_room()
        self._search_from(self._node(mixture, self.knobs.tau))

    def _search_from(self, root: int) -> None:
        self.knobs = self.knobs._replace(root=root)
        self.graph.counts["depth"] = self.graph.counts["upward"] = 0
        self.graph.point[self._open(root)]["live"] = 1
        scan(self.graph, self.vectors, root)

    @property
    def bounds(self) -> tuple[float, float]:
        """The computed lower and upper bound at the start, without rounding errors."""
        bound = self.graph.bound[self.knobs.root]
        return float(bound["lower"]), float(bound["upper"])

    def point_bounds(self) -> PointBounds:
        """A copy of the graph with its upper bounds."""
        graph, counts = self.graph, self.graph.counts
        entries, edges = slice(counts["entries"]), slice(counts["edges"])
        node, point = graph.node[: counts["nodes"]], graph.point[: counts["points"]]
        corner, share = graph.corner[:, entries].astype(np.int64), graph.share[:, entries].copy()
        begin = node["begin"].copy()
        return PointBounds(
            beliefs=Mixtures(begin, node["length"].copy(), corner[0], share[0]),
            weights=Mixtures(begin, node["weights"].copy(), corner[1], share[1]),
            node_of=point["node"].copy(),
            point_of=node["point"].copy(),
            values=graph.value[0, : counts["points"]].copy(),
            first=point["first"].copy(),
            last=point["last"].copy(),
            **{name: graph.edge[edges][name].astype(np.int64) for name in EDGE.names or ()},
            chance=graph.chance[edges].copy(),
            root=int(self.knobs.root),
        )

    def make_room(self, more: int = 1) -> None:
        """Double the arrays that are full, one by one, with room for this many more vectors.

        `LimitReached` if an array and its larger copy exceed the memory limit together; arrays that
        have grown by then stay enlarged.
        """
        for name, shape, size in self._fuller(more):
            self.clock.claim(self._bytes + size)
            kind, field = name.split(".")
            array = getattr(getattr(self, kind), field)
            bigger = np.zeros(shape, array.dtype)
            if name == HASHES:
                graph = self.graph._replace(table=bigger)
                rehash(graph)
                self.graph = graph
                continue
            bigger[tuple(slice(n) for n in array.shape)] = array
            setattr(self, kind, getattr(self, kind)._replace(**{field: bigger}))
            del array  # frees memory for the next one

    def _fuller(self, more: int = 1) -> list[tuple[str, tuple[int, ...], int]]:
        """The arrays that must grow: their names, and the shapes and bytes that they need."""
        counts, entries = self.graph.counts, len(self.moves.rewards) * self._joint
        places = {
            **dict.fromkeys(("graph.node", "graph.bound"), (0, "nodes", self._children)),
            **dict.fromkeys(("graph.corner", "graph.share"), (1, "entries", entries)),
            **dict.fromkeys(("graph.edge", "graph.chance"), (0, "edges", self._children)),
            **dict.fromkeys(("graph.point", "graph.pool", "graph.gain"), (0, "points", 1)),
            "graph.value": (1, "points", 1),
            **dict.fromkeys(("vectors.table", "vectors.choice"), (0, "vectors", more)),
            "vectors.column": (1, "columns", more),
            "vectors.origin": (0, "columns", more),
        }
        found: list[tuple[str, tuple[int, ...], int]] = []
        for name, (axis, count, extra) in places.items():
            kind, field = name.split(".")
            array, needed = getattr(getattr(self, kind), field), int(counts[count]) + extra + 2
            if needed >= array.shape[axis]:
                shape = list(array.shape)
                shape[axis] = max(2 * shape[axis], needed + needed // 4 + 16)
                found.append((name, tuple(shape), array.itemsize * math.prod(shape)))
        nodes = int(counts["nodes"]) + self._children
        if 2 * nodes + 2 >= len(self.graph.table):
            size = 1 << (4 * nodes).bit_length()
            found.append((HASHES, (size,), self.graph.table.itemsize * size))
        return found

    @property
    def _bytes(self) -> int:
        """The bytes of all arrays."""
        held: tuple[Any, ...] = (
            *self.graph,
            *self.vectors,
            *self.moves,
            *self.scratch,
            *self.trail,
        )
        return sum(array.nbytes for array in held)

    def _node(self, mixture: Floats, tau: float) -> int:
        where: Ints = np.flatnonzero(mixture)
        begin = self.graph.counts["entries"]
        self.graph.corner[0, begin : begin + len(where)] = where
        self.graph.share[0, begin : begin + len(where)] = mixture[where]
        i = int(locate(self.graph, len(where), tau))
        interpolate(self.graph, i)
        return i

    def _open(self, i: int) -> int:
        self.make_room()
        return int(open_point(self.graph, self.moves, self.scratch, i, self.knobs))
