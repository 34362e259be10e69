"""The arrays of an anytime search: made, grown, and counted in bytes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.planning.anytime.belief_graph import (
    BOUND,
    COUNTS,
    EDGE,
    NODE,
    POINT,
    Array,
    Graph,
    Knobs,
    Scratch,
    interpolate,
    locate,
    plant,
    rehash,
)
from rpsr.planning.anytime.belief_parts import BEGIN, CENTRE, END, Parts, members
from rpsr.planning.anytime.lower_bound import Vectors, enter_first, scan
from rpsr.planning.anytime.walks import Trail, open_point
from rpsr.planning.corners.corner_model import CornerProcess
from rpsr.planning.limits import Clock, LimitReached, MemoryTooSmall
from rpsr.planning.solution import Status
from rpsr.planning.value.point_bounds import Mixtures, PointBounds
from rpsr.planning.value.value_function import PartialVectors, ValueFunction

DEEPEST = 2000  # steps of a trial
HASHES = "graph.table"  # grows like the others, but is rehashed


def reach_of(process: CornerProcess, parts: Parts) -> int:
    """The largest number of entries that the children of a belief may have."""
    n_actions, k = process.rewards.shape
    moves = np.diff(process.indptr).reshape(n_actions, k).sum(axis=0)[parts.member]
    most = int(np.add.reduceat(moves, parts.part[:, BEGIN]).max())
    return min(most, n_actions * process.observations * k)


class Full(NamedTuple):
    """An array that must grow, with two larger shapes: twice its size, and what is needed."""

    name: str
    array: Array
    doubled: tuple[int, ...]
    least: tuple[int, ...]

    def bytes(self, shape: tuple[int, ...]) -> int:
        """Its bytes in this shape."""
        return self.array.itemsize * math.prod(shape)


class SearchState:
    """Graph and vectors of a search on a process with k corners; they grow by doubling.

    parts: those that beliefs lie in. policies: the first ones, with vectors (K, k). informed
    (A, k): Q's at the corners. hint: as in `Scratch`.
    """

    def __init__(
        self,
        process: CornerProcess,
        clock: Clock,
        parts: Parts,
        knobs: Knobs,
        policies: ValueFunction,
        informed: Floats,
        hint: Floats,
    ) -> None:
        n_actions, k = process.rewards.shape
        count = len(parts.part)
        self.clock = clock
        self.moves = process.moves
        self._children, joint = n_actions * process.observations, process.observations * k
        self.scratch = Scratch(np.zeros(joint), np.zeros(joint, np.int64), np.full(k, -1), hint)
        self.trail = Trail(np.zeros(DEEPEST, np.int64), np.zeros((DEEPEST, 2)))
        nodes, points, rows = k + 1 + count, k + 2, count * len(policies) + 2
        entries = 2 * k + len(parts.member)
        self.graph = Graph(
            counts=np.zeros((), COUNTS)[()],
            corner=np.zeros(entries, np.int32),
            share=np.zeros(entries),
            node=np.zeros(nodes, NODE),
            bound=np.zeros(nodes, BOUND),
            corner_sum=np.zeros((nodes, n_actions)),
            table=np.zeros(1 << (2 * nodes).bit_length(), np.int64),
            point=np.zeros(points, POINT),
            value=np.zeros((3 if hint.size else 2, points, n_actions)),
            edge=np.zeros(1, EDGE),
            chance=np.zeros(1),
            pool=np.zeros(points, np.int64),
            gain=np.zeros(points),
            chain=np.zeros(points, np.int64),
            ends=np.full((count, 2), -1),
            of=parts.of,
        )
        self.vectors = Vectors(
            values=np.zeros((len(policies) + 2) * len(parts.member)),
            first=np.zeros(rows, np.int64),
            part=np.zeros(rows, np.int64),
            choice=np.zeros((rows, 1 + process.observations), np.int32),
            origin=np.zeros(rows, np.int64),
            starts=np.zeros(rows, np.int64),
            before=np.zeros(rows, np.int64),
            column=np.zeros((k if count == 1 else 0, rows)),
            parts=parts,
        )
        counts = self.graph.counts
        counts["reach"], counts["widest"] = reach_of(process, parts), self.sizes.max()
        needed = self._bytes + sum(full.bytes(full.least) for full in self._full())
        if clock.memory_limit is not None and needed > clock.memory_limit:
            raise MemoryTooSmall(
                f"memory limit: read {clock.memory_limit} bytes, but planning on "
                f"{process.model.name} needs at least {needed} bytes; give a larger limit"
            )
        try:
            self._begin(process, knobs, policies, informed)
        except LimitReached as limit:
            if limit.status is not Status.MEMORY:
                raise
            raise MemoryTooSmall(
                f"memory limit: read {clock.memory_limit} bytes, but planning on "
                f"{process.model.name} needs more than {self._bytes} bytes; give a larger limit"
            ) from None

    def _begin(
        self, process: CornerProcess, knobs: Knobs, policies: ValueFunction, informed: Floats
    ) -> None:
        """The corners, the start and the mixture of all corners, and the first vectors."""
        k = process.k
        self.make_room()
        plant(self.graph, self.moves, self.scratch, np.ascontiguousarray(informed.T))
        root = self._node(process.start, knobs.tau)
        parts, mixed = self.vectors.parts, len(self.vectors.parts.member) > k
        self.graph.counts["mixed"] = root if mixed else -1
        for c in range(len(parts.part)):
            last = mixed and c + 1 == len(parts.part)
            parts.part[c, CENTRE] = root if last else self._centre(c, knobs.tau)
        self.knobs = knobs._replace(root=root, fallback=-1)
        self._enter_first(policies)
        if len(parts.part) == 1:
            self.mixed = int(parts.part[0, CENTRE])
            self.knobs = self.knobs._replace(fallback=self._open(self.mixed))
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

    def _enter_first(self, policies: ValueFunction) -> None:
        """The first policies in every part, each followed by its successors where beliefs go."""
        vectors, parts, count = self.vectors, self.vectors.parts, len(policies)
        at = 0
        for c, size in enumerate(self.sizes.tolist()):
            rows = np.arange(c * count, (c + 1) * count)
            then = parts.after[c, policies.actions]
            vectors.choice[rows, 0] = policies.actions
            vectors.choice[rows, 1:] = np.where(
                then < 0, rows[:, None], then * count + policies.successors
            )
            vectors.first[rows], vectors.part[rows] = at + size * np.arange(count), c
            values = policies.vectors[:, members(parts, c)].ravel()
            vectors.values[at : at + len(values)] = values
            at += len(values)
        self.graph.counts["values"], self.graph.counts["vectors"] = at, count * len(parts.part)
        enter_first(self.graph, vectors, count * len(parts.part))

    @property
    def sizes(self) -> Ints:
        """The number of corners of each part."""
        return self.vectors.parts.part[:, END] - self.vectors.parts.part[:, BEGIN]

    def values_of(self, rows: Ints) -> Floats:
        """Vectors, (len(rows), k), if there is one part."""
        vectors = self.vectors
        return vectors.values[vectors.first[rows][:, None] + np.arange(len(vectors.column))]

    def partial_of(self, rows: Ints, elsewhere: float) -> PartialVectors:
        """Vectors at the corners of their parts, with a value for those of other parts."""
        vectors, parts = self.vectors, self.vectors.parts
        begin, size = parts.part[vectors.part[rows], BEGIN], self.sizes[vectors.part[rows]]
        first = np.append(0, np.cumsum(size))
        within = np.arange(first[-1]) - np.repeat(first[:-1], size)
        state = parts.member[np.repeat(begin, size) + within]
        value = vectors.values[np.repeat(vectors.first[rows], size) + within]
        return PartialVectors(first, state, value, elsewhere, len(parts.of))

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
        corner, share = graph.corner[entries].astype(np.int64), graph.share[entries].copy()
        return PointBounds(
            beliefs=Mixtures(node["begin"].copy(), node["length"].copy(), corner, share),
            weights=Mixtures(node["held"].copy(), node["weights"].copy(), corner, share),
            node_of=point["node"].copy(),
            point_of=node["point"].copy(),
            values=graph.value[0, : counts["points"]].copy(),
            first=point["first"].copy(),
            last=point["last"].copy(),
            **{name: graph.edge[edges][name].astype(np.int64) for name in EDGE.names or ()},
            chance=graph.chance[edges].copy(),
            root=int(self.knobs.root),
        )

    def make_room(self, more: int = 1, values: int = 0) -> None:
        """Double the arrays that are full, one by one, with room for more vectors and their values.

        Where doubling exceeds the memory limit, an array grows by as little as is worth a copy.
        `LimitReached` if it and even that copy exceed the limit together; arrays that have grown
        by then stay enlarged.
        """
        for full in self._full(more, values):
            held = self._bytes
            shape = full.doubled
            if held + full.bytes(shape) > self.clock.bytes_left:
                shape = full.least
            self.clock.claim(held + full.bytes(shape))
            bigger = np.zeros(shape, full.array.dtype)
            if full.name == HASHES:
                self.graph = self.graph._replace(table=bigger)
                rehash(self.graph)
                continue
            bigger[tuple(slice(n) for n in full.array.shape)] = full.array
            kind, field = full.name.split(".")
            setattr(self, kind, getattr(self, kind)._replace(**{field: bigger}))

    def _full(self, more: int = 1, values: int = 0) -> Iterator[Full]:
        """The arrays that must grow, each looked up when it is asked for."""
        counts = self.graph.counts
        reach, widest = int(counts["reach"]), int(counts["widest"])
        places = {
            **dict.fromkeys(
                ("graph.node", "graph.bound", "graph.corner_sum"), (0, "nodes", self._children)
            ),
            **dict.fromkeys(("graph.corner", "graph.share"), (0, "entries", 2 * reach + widest)),
            **dict.fromkeys(("graph.edge", "graph.chance"), (0, "edges", self._children)),
            **dict.fromkeys(
                ("graph.point", "graph.pool", "graph.gain", "graph.chain"), (0, "points", 1)
            ),
            "graph.value": (1, "points", 1),
            **dict.fromkeys(
                ("vectors.choice", "vectors.first", "vectors.part"), (0, "vectors", more)
            ),
            **dict.fromkeys(
                ("vectors.origin", "vectors.starts", "vectors.before"), (0, "columns", more)
            ),
            "vectors.column": (1, "columns", more),
            "vectors.values": (0, "values", max(values, widest)),
        }
        for name, (axis, count, extra) in places.items():
            kind, field = name.split(".")
            array, needed = getattr(getattr(self, kind), field), int(counts[count]) + extra + 2
            if needed >= array.shape[axis]:
                before, after = array.shape[:axis], array.shape[axis + 1 :]
                length = max(2 * array.shape[axis], needed + needed // 4 + 16)
                least = needed + needed // 8 + 1
                yield Full(name, array, (*before, length, *after), (*before, least, *after))
        nodes = int(counts["nodes"]) + self._children
        if 2 * nodes + 2 >= len(self.graph.table):
            sizes = (1 << (4 * nodes).bit_length(), 1 << (2 * nodes + 2).bit_length())
            yield Full(HASHES, self.graph.table, sizes[:1], sizes[1:])

    @property
    def _bytes(self) -> int:
        """The bytes of all arrays."""
        held: tuple[Any, ...] = (
            *self.graph,
            *self.vectors[:-1],
            *self.vectors.parts,
            *self.moves,
            *self.scratch,
            *self.trail,
        )
        return sum(array.nbytes for array in held)

    def _node(self, mixture: Floats, tau: float) -> int:
        where: Ints = np.flatnonzero(mixture)
        return self._found(where, mixture[where], tau)

    def _centre(self, part: int, tau: float) -> int:
        """The node of the uniform belief of a part."""
        where = np.sort(members(self.vectors.parts, part))
        return self._found(where, 1 / len(where), tau)

    def _found(self, where: Ints, share: Floats | float, tau: float) -> int:
        begin = self.graph.counts["entries"]
        self.graph.corner[begin : begin + len(where)] = where
        self.graph.share[begin : begin + len(where)] = share
        i = int(locate(self.graph, len(where), tau))
        interpolate(self.graph, i)
        return i

    def _open(self, i: int) -> int:
        self.make_room()
        return int(open_point(self.graph, self.moves, self.scratch, i, self.knobs))
