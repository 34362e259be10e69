"""Which nodes and observations of a controller can occur, and a smaller controller that acts alike.

Given a model, the support of every belief that can reach a node is followed through the process of
its corners, which is exact: an edge counts if and only if some history takes it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rpsr.io.records import Bools
from rpsr.models.linear import LinearModel
from rpsr.models.operators import SparseOperators
from rpsr.planning.value.controllers import FiniteStateController

Edges = list[tuple[int, int, tuple[int, ...]]]


def reachable_edges(
    controller: FiniteStateController, model: LinearModel | None, *, most: int | None = None
) -> Edges:
    """(source, target, observations), in breadth-first order from the first node.

    most: stop when more nodes than this were reached.
    """
    if model is not None:
        controller.check(model)
    process, support = _process(model)
    reached: dict[int, Bools] = {controller.first: support}
    queue = [controller.first]
    taken: dict[tuple[int, int], set[int]] = {}
    while queue and (most is None or len(reached) <= most):
        node = queue.pop(0)
        for o in range(len(controller.observation_names)):
            after = np.ones(1, dtype=np.bool_)
            if process is not None:
                block = process[int(controller.actions[node])][o]
                after = np.asarray(reached[node].astype(float) @ block) > 0
            if not after.any():
                continue
            target = controller.after(node, o)
            taken.setdefault((node, target), set()).add(o)
            before = reached.get(target)
            if before is None or (after & ~before).any():
                reached[target] = after if before is None else before | after
                queue.append(target)
    return [(source, target, tuple(sorted(seen))) for (source, target), seen in taken.items()]


def _process(model: LinearModel | None) -> tuple[Any, Bools]:
    """How corners move to corners, and which of them the start may be a mixture of."""
    if model is None:
        return None, np.ones(1, dtype=np.bool_)
    if isinstance(model.operators, SparseOperators):
        return model.operators.process, model.start > 0
    if model.domain.known:  # any corner may be part of the start
        return model.corner_kernel, np.ones(model.domain.size, dtype=np.bool_)
    return None, np.ones(1, dtype=np.bool_)


def merged(
    controller: FiniteStateController, model: LinearModel | None, *, most: int | None = None
) -> FiniteStateController | None:
    """A controller with fewer nodes, if that is easy, and the same action after every history.

    Nodes are merged one after the other where no observation that can occur ever leads to different
    actions. To find the fewest nodes is NP-hard; this finds few. The result starts in node 0;
    observations that cannot occur have no successor.

    most: None is returned if more nodes than this are reached.
    """
    edges = reachable_edges(controller, model, most=most)
    nodes = list(dict.fromkeys([controller.first, *(target for _, target, _ in edges)]))
    if most is not None and len(nodes) > most:
        return None
    number = {node: index for index, node in enumerate(nodes)}
    following: list[dict[int, int]] = [{} for _ in nodes]
    for source, target, seen in edges:
        following[number[source]] |= dict.fromkeys(seen, number[target])
    merging = _Merging(controller.actions[nodes].tolist(), following)
    kept: list[int] = []
    for node in range(len(nodes)):
        if merging.of[node] == node and not any(merging.merge(earlier, node) for earlier in kept):
            kept.append(node)
    successors = np.full((len(kept), len(controller.observation_names)), -1)
    place = {node: index for index, node in enumerate(kept)}
    for index, node in enumerate(kept):
        for o, target in merging.following[node].items():
            successors[index, o] = place[merging.find(target)]
    names = (controller.action_names, controller.observation_names)
    return FiniteStateController(*names, merging.actions[kept], successors)


class _Merging:
    """Classes of nodes, each under its first node, with the successors that any of them has."""

    def __init__(self, actions: list[int], following: list[dict[int, int]]) -> None:
        self.actions, self.following = np.array(actions), following
        self.of = list(range(len(actions)))

    def find(self, node: int) -> int:
        while self.of[node] != node:
            node = self.of[node]
        return node

    def merge(self, first: int, second: int) -> bool:
        """Merge two nodes and all that must follow; False, without a change, if they differ."""
        before: list[tuple[int, int, dict[int, int]]] = []  # to undo it
        waiting = [(first, second)]
        while waiting:
            pair = sorted(map(self.find, waiting.pop()))
            kept, gone = pair
            if kept == gone:
                continue
            if self.actions[kept] != self.actions[gone]:
                for one, other, own in reversed(before):
                    self.of[other], self.following[one] = other, own
                return False
            own, others = self.following[kept], self.following[gone]
            before.append((kept, gone, own))
            self.of[gone] = kept
            self.following[kept] = others | own
            waiting += [(own[o], others[o]) for o in own.keys() & others.keys()]
        return True
