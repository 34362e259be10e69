"""Loops of beliefs in a search without a discount: their upper bounds are those of leaving them.

Actions that lead from points to points, and around again, with rewards of at most 0, form an end
component of the belief graph. Looks alone would leave its upper bounds as they are, because each is
justified by the others. But a policy that stays inside indefinitely earns at most 0, and one that
leaves does so by an action that leads outside. So no point of it is worth more than

    cap = max(0, max Q(p, a) over its points p and actions a that may leave it).

The argument takes arbitrarily many steps inside, hence only transitions that are exact count as
staying inside: those to a corner, those that created their node, and those to the same belief in
exact arithmetic (`exact_beliefs`). Beliefs that were merged because they are close lead outside.
The stored belief of a node differs from the exact one by rounding, at most `depth` steps of it,
which the cap includes.

Reference: T. Brázdil et al., Verification of Markov decision processes using learning algorithms,
ATVA 2014, for end components in heuristic search.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from rpsr.io.records import Bools, Floats, Ints
from rpsr.kernels import njit
from rpsr.planning.anytime.belief_graph import Graph
from rpsr.planning.anytime.exact_beliefs import ExactBeliefs, creators
from rpsr.planning.end_components import end_components
from rpsr.planning.limits import Clock

THIN = 1e-200  # a smaller share of a belief: its products with probabilities may underflow


@dataclass(frozen=True, eq=False)
class _Found:
    """The end component (P,) of each point, the actions (A, P) inside, and the deepest belief."""

    component: Ints
    inside: Bools
    depth: int


class Loops:
    """The loops of a search.

    exact: exact beliefs, which decide for edges to beliefs that were found by other steps, too;
    without them, such edges lead outside. planted: the number of nodes that no edge created.
    merged (k,): the corners that stand for several which are not known to coincide exactly; edges
    to them lead outside. drift: the largest difference of values by the rounding of one step.
    """

    def __init__(
        self, exact: ExactBeliefs | None, planted: int, merged: Bools, drift: float
    ) -> None:
        self.exact, self.planted, self.merged, self.drift = exact, planted, merged, drift
        self._size = (0, 0)  # points and edges when the loops were last looked for
        self._loops = _Found(np.empty(0, np.int64), np.empty((0, 0), np.bool_), 0)

    def cap(self, graph: Graph, clock: Clock) -> int:
        """Lower the Q's of all end components of points to their caps; how many were lowered.

        The loops depend on the points and edges only, which change less often than bounds do.
        `LimitReached` past the deadline.
        """
        size = int(graph.counts["points"]), int(graph.counts["edges"])
        if size != self._size:
            self._loops = self._find(graph, clock)
            self._size = size
        loops = self._loops
        return _lower(graph, loops.component, loops.inside, self.drift * (1 + loops.depth))

    def _find(self, graph: Graph, clock: Clock) -> _Found:
        n_points, n_edges = int(graph.counts["points"]), int(graph.counts["edges"])
        n_actions = graph.value.shape[2]
        owner = owners(graph)
        created, depth = created_by(graph, owner, self.planted)
        edges = graph.edge[:n_edges]
        target = graph.node["point"][edges["child"]]
        target[np.isin(edges["child"], np.flatnonzero(self.merged))] = -1
        row = edges["action"].astype(np.int64) * n_points + owner
        stays = np.zeros(n_actions * n_points, dtype=np.bool_)
        stays[row] = True
        stays[row[(target < 0) | (~created & (self.exact is None))]] = False
        stays &= (graph.value[1, :n_points] <= 0).T.ravel()
        stays &= np.tile(~thin_points(graph), n_actions)
        creator = creators(graph)
        while True:
            kept = stays[row]
            parts = (np.ones(int(kept.sum())), (row[kept], target[kept]))
            shape = (n_actions * n_points, n_points)
            moves = sp.csr_array(sp.coo_array(parts, shape=shape))
            component, inside = end_components(moves, n_actions, stays.reshape(n_actions, -1))
            wrong: list[int] = []
            for m in np.flatnonzero(inside.ravel()[row] & ~created).tolist():
                clock.check()  # exact beliefs may have long weights
                if self.exact is not None and not self.exact.exact(graph, creator, owner, m):
                    wrong.append(m)
            if not wrong:
                return _Found(component, inside, depth)
            stays[row[wrong]] = False


@njit(cache=True)
def thin_points(graph: Graph) -> Bools:
    """The points some of whose outcomes may be lost, because their probabilities underflow, (P,).

    Probabilities of moves are at least 1e-100 (`undiscounted_bounds`).
    """
    thin = np.zeros(graph.counts["points"], np.bool_)
    for p in range(len(thin)):
        i = graph.point[p]["node"]
        for t in range(graph.node[i]["begin"], graph.node[i]["begin"] + graph.node[i]["length"]):
            if graph.share[t] < THIN:
                thin[p] = True
    return thin


def owners(graph: Graph) -> Ints:
    """The point of each edge, (M,)."""
    points = graph.point[: graph.counts["points"]]
    expanded = np.flatnonzero(points["first"] >= 0)
    expanded = expanded[np.argsort(points["first"][expanded], kind="stable")]
    return np.repeat(expanded, (points["last"] - points["first"])[expanded])


def _lower(graph: Graph, component: Ints, inside: Bools, drift: float) -> int:
    """Lower the Q's inside each end component; inside (A, P)."""
    members = np.flatnonzero(inside.any(axis=0))
    if not len(members):
        return 0
    values = graph.value[0, : len(component)]
    leaving: Floats = np.where(inside.T[members], -np.inf, values[members]).max(axis=1)
    caps = np.full(int(component.max()) + 1, 0.0)
    np.maximum.at(caps, component[members], leaving)
    cap = caps[component[members]] + drift
    lower = inside.T[members] & (values[members] > cap[:, None])
    values[members] = np.where(lower, cap[:, None], values[members])
    nodes = graph.point["node"][members]
    best = values[members].max(axis=1)
    graph.bound["upper"][nodes] = np.minimum(graph.bound["upper"][nodes], best)
    if lower[members < len(graph.of)].any():
        graph.counts["fallen"] += 1
    return int(lower.any(axis=1).sum())


@njit(cache=True)
def created_by(graph: Graph, owner: Ints, planted: int) -> tuple[Bools, int]:
    """Whether each edge, from the point `owner`, created its node or leads to a corner, (M,).

    Also the largest number of steps by which a belief was computed.
    """
    node, newest, deepest = graph.node, planted - 1, 0
    created = np.zeros(len(owner), np.bool_)
    depth = np.zeros(graph.counts["nodes"], np.int64)
    for m in range(len(owner)):
        child = int(np.int64(graph.edge[m]["child"]))
        if node[child]["length"] == 1:
            created[m] = True
        elif child > newest:
            created[m] = True
            depth[child] = depth[graph.point[owner[m]]["node"]] + 1
            deepest = max(deepest, depth[child])
        newest = max(newest, child)
    return created, deepest
