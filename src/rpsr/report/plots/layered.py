"""A layered drawing of a directed graph, from left to right, in which nothing overlaps.

After K. Sugiyama, S. Tagawa and M. Toda, "Methods for visual understanding of hierarchical system
structures", 1981. The layer of a node is its distance from the first one. Between two layers there
is a column for the labels of edges, each with a place of its own. An edge to the next layer leaves
its node on the right. An edge to an earlier layer leaves on the left; in the columns on its way
back it follows a track, which it shares with all edges back to the same node. So a line crosses a
column in a place of its own, and no line crosses a node or another edge's label.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rpsr.io.records import Floats

Edge = tuple[int, int]
Size = tuple[float, float]  # width and height
Point = tuple[float, float]
Place = tuple[int, int, int]  # a column, and in it: node (n, n), label (s, t), track (-1, t)

LOOP = 0.24  # the height of an edge from a node to itself, above it
_GAP, _WIDEST_GAP, _SLOPE = 0.34, 1.1, 0.22  # between columns: wider where lines are steep
_BETWEEN = 0.09  # between two places of a column
_TRACK = 0.06
_PORT = 0.075  # between two lines that meet a node
_ROUND = 0.55
_SWEEPS = 16


@dataclass(frozen=True)
class Box:
    """A rectangle: its centre, width and height; y points up."""

    x: float
    y: float
    width: float
    height: float

    @property
    def left(self) -> float:
        """The smallest x."""
        return self.x - self.width / 2

    @property
    def right(self) -> float:
        """The largest x."""
        return self.x + self.width / 2

    @property
    def bottom(self) -> float:
        """The smallest y."""
        return self.y - self.height / 2

    @property
    def top(self) -> float:
        """The largest y."""
        return self.y + self.height / 2

    def overlaps(self, other: Box) -> bool:
        """Whether the insides of two boxes meet."""
        wide = (self.width + other.width) / 2 - abs(self.x - other.x)
        high = (self.height + other.height) / 2 - abs(self.y - other.y)
        return wide > 1e-9 and high > 1e-9


@dataclass(frozen=True)
class Layout:
    """Where everything is: the boxes of nodes and labels, and the lines of edges.

    layers: of each node. lines: the points of each edge, (3 k + 1, 2), a chain of k cubic Bezier
    curves from one node's border to another's.
    """

    layers: dict[int, int]
    nodes: dict[int, Box]
    labels: dict[Edge, Box]
    lines: dict[Edge, Floats]

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """The smallest and largest x, the smallest and largest y."""
        boxes = [*self.nodes.values(), *self.labels.values()]
        points = np.vstack([np.zeros((0, 2)), *self.lines.values()])
        x = [*points[:, 0], *(b.left for b in boxes), *(b.right for b in boxes)]
        y = [*points[:, 1], *(b.bottom for b in boxes), *(b.top for b in boxes)]
        return min(x), max(x), min(y), max(y)


def layered(first: int, nodes: Mapping[int, Size], edges: Mapping[Edge, Size]) -> Layout:
    """Place nodes and edges, given the sizes of nodes and of the edges' labels.

    Every node can be reached from the first one. Nodes where many lines meet become higher.
    """
    layers = distances(first, edges)
    chains = {edge: _chain(edge, layers) for edge in edges if edge[0] != edge[1]}
    columns = _columns(layers, chains.values())
    links = _links(chains.values())
    nodes = {
        node: (width, max(height, _PORT * (1 + max(map(len, _sides(node, layers, links))))))
        for node, (width, height) in nodes.items()
    }
    _order(columns, links)
    sizes = {place: _size(place, nodes, edges) for column in columns for place in column}
    heights = _heights(columns, links, sizes)
    spans = _spans(columns, links, sizes, heights)
    return _drawn(layers, chains, links, nodes, edges, heights, spans)


def distances(first: int, edges: Iterable[Edge]) -> dict[int, int]:
    """The fewest steps from the first node to each."""
    after: dict[int, list[int]] = defaultdict(list)
    for source, target in edges:
        after[source].append(target)
    steps, queue = {first: 0}, [first]
    for node in queue:
        for target in after[node]:
            if target not in steps:
                steps[target] = steps[node] + 1
                queue.append(target)
    return steps


def _chain(edge: Edge, layers: Mapping[int, int]) -> list[Place]:
    """The places that an edge passes, from its source to its target."""
    source, target = edge
    start, end = 2 * layers[source], 2 * layers[target]
    label = (start + 1 if end >= start else start - 1, source, target)
    tracks = [(column, -1, target) for column in range(label[0] - 1, end, -1) if end < start]
    return [(start, source, source), label, *tracks, (end, target, target)]


def _columns(layers: Mapping[int, int], chains: Iterable[Sequence[Place]]) -> list[list[Place]]:
    places = dict.fromkeys((2 * layer, node, node) for node, layer in layers.items())
    places |= dict.fromkeys(place for chain in chains for place in chain)
    columns: list[list[Place]] = [[] for _ in range(max(place[0] for place in places) + 1)]
    for place in places:
        columns[place[0]].append(place)
    return columns


def _links(chains: Iterable[Sequence[Place]]) -> dict[Place, list[Place]]:
    """The neighbours of each place, in the columns next to its own."""
    links: dict[Place, dict[Place, None]] = defaultdict(dict)
    for chain in chains:
        for one, other in pairwise(chain):
            links[one][other] = links[other][one] = None
    return {place: list(near) for place, near in links.items()}


def _order(columns: list[list[Place]], links: Mapping[Place, list[Place]]) -> None:
    """Sort each column by the mean rank of neighbours, there and back; keep the best sorting."""
    best, fewest = [list(column) for column in columns], _crossings(columns, links)
    for sweep in range(_SWEEPS):
        pairs = list(pairwise(columns)) if sweep % 2 == 0 else list(pairwise(columns[::-1]))
        for before, column in pairs:
            rank = {place: i / len(before) for i, place in enumerate(before)}
            now = {place: i / len(column) for i, place in enumerate(column)}
            wanted = {
                place: np.mean([rank[o] for o in links.get(place, ()) if o in rank] or [now[place]])
                for place in column
            }
            column.sort(key=wanted.__getitem__)
        count = _crossings(columns, links)
        if count < fewest:
            best, fewest = [list(column) for column in columns], count
    columns[:] = best


def _crossings(columns: Sequence[Sequence[Place]], links: Mapping[Place, list[Place]]) -> int:
    """How many pairs of lines cross."""
    total = 0
    for left, right in pairwise(columns):
        rank = {place: i for i, place in enumerate(right)}
        ends = np.array(
            [(i, rank[o]) for i, p in enumerate(left) for o in links.get(p, ()) if o in rank]
        ).reshape(-1, 2)
        above = ends[:, None, 0] < ends[None, :, 0]
        total += int((above & (ends[:, None, 1] > ends[None, :, 1])).sum())
    return total


def _size(
    place: Place, nodes: Mapping[int, Size], edges: Mapping[Edge, Size]
) -> tuple[float, float, float]:
    """The width of a place, and how far it reaches below and above its line."""
    _, one, other = place
    if one < 0:
        return 0.0, _TRACK / 2, _TRACK / 2
    if one != other:
        width, height = edges[one, other]
        return width, height / 2, height / 2
    width, height = nodes[one]
    if (one, one) not in edges:
        return width, height / 2, height / 2
    wide, high = edges[one, one]
    return max(width, wide), height / 2, height / 2 + LOOP + high


def _heights(
    columns: Sequence[Sequence[Place]],
    links: Mapping[Place, list[Place]],
    sizes: Mapping[Place, tuple[float, float, float]],
) -> dict[Place, float]:
    """The y of each place, downwards: near its neighbours', in its column's order, never too close.

    Given the neighbours, the nearest such y of a column is an isotonic regression.
    """
    steps: list[Floats] = []
    for column in columns:
        apart = [sizes[a][1] + _BETWEEN + sizes[b][2] for a, b in pairwise(column)]
        steps.append(np.concatenate([[0.0], np.cumsum(apart)]))
    y = {
        place: float(step - offsets[-1] / 2)
        for column, offsets in zip(columns, steps, strict=True)
        for place, step in zip(column, offsets, strict=True)
    }
    for sweep in range(2 * _SWEEPS):
        rounds = list(zip(columns, steps, strict=True))
        for column, offsets in rounds if sweep % 2 == 0 else reversed(rounds):
            wanted = np.array([float(np.mean([y[o] for o in links.get(p, (p,))])) for p in column])
            weights = np.array([_weight(place, links) for place in column])
            placed = increasing(wanted - offsets, weights) + offsets
            y |= zip(column, map(float, placed), strict=True)
    return y


def _weight(place: Place, links: Mapping[Place, list[Place]]) -> float:
    """How much a place should be where its neighbours are, so that lines are straight.

    More for a track, and for the label of a curve between two nodes of one layer.
    """
    columns = {other[0] for other in links.get(place, ())}
    return 4.0 if place[1] < 0 or (len(columns) == 1 and place[1] != place[2]) else 1.0


def increasing(values: Floats, weights: Floats) -> Floats:
    """The nearest numbers, in weighted least squares, that never decrease (isotonic regression)."""
    blocks: list[tuple[float, float, int]] = []  # mean, weight, length
    for value, weight in zip(values, weights, strict=True):
        mean, total, length = float(value), float(weight), 1
        while blocks and blocks[-1][0] > mean:
            last, heavy, long = blocks.pop()
            mean = (mean * total + last * heavy) / (total + heavy)
            total, length = total + heavy, length + long
        blocks.append((mean, total, length))
    return np.repeat([mean for mean, _, _ in blocks], [length for _, _, length in blocks])


def _spans(
    columns: Sequence[Sequence[Place]],
    links: Mapping[Place, list[Place]],
    sizes: Mapping[Place, tuple[float, float, float]],
    y: Mapping[Place, float],
) -> list[tuple[float, float]]:
    """The left and right border of each column."""
    spans: list[tuple[float, float]] = []
    at = 0.0
    for number, column in enumerate(columns):
        width = max(sizes[place][0] for place in column)
        if number > 0:
            rises = [abs(y[p] - y[o]) for p in column for o in links.get(p, ()) if o[0] < number]
            at += min(_GAP + _SLOPE * max(rises, default=0.0), _WIDEST_GAP)
        spans.append((at, at + width))
        at += width
    return spans


def _drawn(
    layers: dict[int, int],
    chains: Mapping[Edge, Sequence[Place]],
    links: Mapping[Place, list[Place]],
    nodes: Mapping[int, Size],
    edges: Mapping[Edge, Size],
    y: Mapping[Place, float],
    spans: Sequence[tuple[float, float]],
) -> Layout:
    boxes: dict[int, Box] = {}
    for node, layer in layers.items():
        width, height = nodes[node]
        boxes[node] = Box(sum(spans[2 * layer]) / 2, -y[2 * layer, node, node], width, height)
    labels: dict[Edge, Box] = {}
    lines: dict[Edge, Floats] = {}
    ports = _ports(layers, links, y, boxes, spans)
    for edge, (width, height) in edges.items():
        source, target = edge
        if source == target:
            lines[edge] = _loop(boxes[source])
            box = boxes[source]
            labels[edge] = Box(box.x, box.top + LOOP + height / 2, width, height)
            continue
        chain = chains[edge]
        backward = layers[target] < layers[source]
        left, right = spans[chain[1][0]]
        x = right - width / 2 if backward else left + width / 2  # beside its source
        labels[edge] = Box(x, -y[chain[1]], width, height)
        begin, leave = ports[source, chain[1]]
        end, arrive = ports[target, chain[-2]]
        if layers[source] == layers[target]:
            lines[edge] = _bulge([begin, leave], (left, -y[chain[1]]), [arrive, end])
            continue
        stops = [begin, leave]
        for place in chain[1:-1]:
            low, high = spans[place[0]]
            stops += [(x, -y[place]) for x in ((high, low) if backward else (low, high))]
        lines[edge] = _curve([*stops, arrive, end])
    return Layout(layers, boxes, labels, lines)


def _sides(
    node: int, layers: Mapping[int, int], links: Mapping[Place, list[Place]]
) -> tuple[list[Place], list[Place]]:
    """The neighbours of a node on its left and on its right."""
    place = (2 * layers[node], node, node)
    near = links.get(place, [])
    return [p for p in near if p[0] < place[0]], [p for p in near if p[0] > place[0]]


def _ports(
    layers: Mapping[int, int],
    links: Mapping[Place, list[Place]],
    y: Mapping[Place, float],
    boxes: Mapping[int, Box],
    spans: Sequence[tuple[float, float]],
) -> dict[tuple[int, Place], tuple[Point, Point]]:
    """Where lines meet the border of a node, and that of its column.

    They are spread over each side of the node, in the order of their other ends.
    """
    ports: dict[tuple[int, Place], tuple[Point, Point]] = {}
    for node, box in boxes.items():
        sides, borders = _sides(node, layers, links), spans[2 * layers[node]]
        for x, border, near in zip((box.left, box.right), borders, sides, strict=True):
            for i, other in enumerate(sorted(near, key=lambda place: y[place]), 1):
                height = box.y - (i / (len(near) + 1) - 0.5) * box.height
                ports[node, other] = (x, height), (border, height)
    return ports


def _curve(stops: Sequence[Point]) -> Floats:
    """Bezier curves through the stops, horizontal at each."""
    points: list[Point] = [stops[0]]
    for (x0, y0), (x1, y1) in pairwise(stops):
        if (x0, y0) != (x1, y1):
            points += [((x0 + x1) / 2, y0), ((x0 + x1) / 2, y1), (x1, y1)]
    return np.array(points)


def _bulge(leave: Sequence[Point], apex: Point, arrive: Sequence[Point]) -> Floats:
    """A curve to the right and back, for two nodes of one layer: two quarters of ellipses.

    Curves with their apexes on one line touch only at their labels.
    """
    x, y = apex[0] - 0.03, apex[1]
    (x0, y0), (x1, y1) = leave[-1], arrive[0]
    out = [(x0 + _ROUND * (x - x0), y0), (x, y + _ROUND * (y0 - y)), (x, y)]
    back = [(x, y + _ROUND * (y1 - y)), (x1 + _ROUND * (x - x1), y1), (x1, y1)]
    return np.vstack([_curve(leave), out, back, _curve(arrive)[1:]])


def _loop(box: Box) -> Floats:
    """A curve from the top of a node to itself."""
    half = min(0.14, box.width / 4)
    rise = LOOP * 4 / 3
    return np.array(
        [
            (box.x - half, box.top),
            (box.x - 1.6 * half, box.top + rise),
            (box.x + 1.6 * half, box.top + rise),
            (box.x + half, box.top),
        ]
    )
