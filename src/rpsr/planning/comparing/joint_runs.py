"""Several policies run together on a model: all states they reach while they agree.

A node is a state of the model with the memory of each policy. Where the policies agree, the walk
continues with every possible observation; where they differ, it stops. With one policy it is the
Markov chain of that policy, whose value solves a linear system.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from rpsr.errors import InputError
from rpsr.io.records import Floats
from rpsr.models.as_model import as_linear
from rpsr.models.labels import Index
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.planning.as_policy import AnyPolicy, as_policy
from rpsr.planning.convergence import planning_discount
from rpsr.planning.reachable.plans import value_bounds
from rpsr.planning.reachable.reachable_graph import TOLERANCE
from rpsr.planning.reachable.state_set import StateTable
from rpsr.planning.value.policies import Policy

History = tuple[tuple[str, str], ...]


@dataclass(eq=False)
class Node:
    """A state (n,), the policies there, the first history that leads to it and its probability.

    actions: one per policy; none where the walk ended first.
    edges: probability and index of each node that follows.
    """

    state: Floats
    policies: Sequence[Policy]
    history: History
    probability: float
    actions: tuple[int, ...] = ()
    edges: list[tuple[float, int]] = field(default_factory=list[tuple[float, int]])


def walk(
    policies: Sequence[Policy],
    model: LinearModel,
    *,
    steps: int | None = None,
    limit: int = 1000,
    tolerance: float = TOLERANCE,
) -> list[Node]:
    """Nodes breadth first from the start, to a depth and a number; expanded nodes come first."""
    begun = [_copied(policy) for policy in policies]
    for policy in begun:
        policy.reset()
    nodes = [Node(model.start, begun, (), 1.0)]
    size = float(np.abs(model.start).max())
    table = StateTable(_key(nodes[0]), tolerance, size)
    for node in nodes:  # grows as nodes are found
        if len(node.history) == steps or len(nodes) > limit:
            break
        node.actions = tuple(policy.act() for policy in node.policies)
        if len(set(node.actions)) > 1:
            continue
        action = node.actions[0]
        for o, seen in enumerate(model.observations):
            after, chance = model.moved(node.state, action, o)
            if chance <= model.rounding:
                continue
            following = [_copied(policy) for policy in node.policies]
            for policy in following:
                policy.update(action, Index(o))
            history = (*node.history, (model.actions[action], seen))
            child = Node(after / chance, following, history, node.probability * chance)
            target = table.find(_key(child))
            if target < 0:
                target = table.add(_key(child))
                nodes.append(child)
            node.edges.append((chance, target))
    return nodes


def _copied(policy: Policy) -> Policy:
    """An independent copy of a policy; user-defined policies may have no `copy`."""
    made: Any = getattr(policy, "copy", None)
    if not hasattr(policy, "memory"):
        expected = "a policy with `memory`, its internal state as an array of numbers"
        raise InputError(f"policy: read {type(policy).__name__}, expected {expected}")
    return copy(policy) if made is None else made()


def _key(node: Node) -> Floats:
    return np.concatenate([node.state, *(policy.memory for policy in node.policies)])


def policy_value(
    policy: AnyPolicy,
    model: POMDP | LinearModel,
    *,
    steps: int | None = None,
    limit: int = 10_000,
) -> tuple[float, float]:
    """Bounds on a deterministic policy's value at a model's start; equal if it reaches few states.

    They hold up to rounding; states closer than the graph's `TOLERANCE` count as one.
    steps: number of steps; default: infinite horizon, discounted. limit: states beyond it have
    between the least and the greatest possible value.
    """
    model = as_linear(model)
    discount = planning_discount(model, steps)
    nodes = walk([as_policy(policy, model)], model, steps=steps, limit=limit)
    total = 1 / (1 - discount) if steps is None else sum(discount**k for k in range(steps))
    bounds = value_bounds(model, total) or (-np.inf, np.inf)
    asked = np.array([bool(node.actions) for node in nodes])
    earned = np.array([_earned(node, model) for node in nodes])
    rows = np.repeat(np.arange(len(nodes)), [len(node.edges) for node in nodes])
    edges = [edge for node in nodes for edge in node.edges]
    chances = np.array([chance for chance, _ in edges])
    targets = np.array([target for _, target in edges], dtype=np.int64)
    moves = sp.csr_array(
        sp.coo_array((discount * chances, (rows, targets)), shape=(len(nodes), len(nodes)))
    )
    low, high = (np.where(asked, earned, bound) for bound in bounds)
    if steps is None:
        factors = splu(sp.csc_array(sp.eye_array(len(nodes)) - moves))
        return float(factors.solve(low)[0]), float(factors.solve(high)[0])
    # A node that was not expanded for lack of steps is reached with none left: its value is 0.
    least = most = np.zeros(len(nodes))
    for _ in range(steps):
        least = np.where(asked, earned + moves @ least, min(0.0, bounds[0]))
        most = np.where(asked, earned + moves @ most, max(0.0, bounds[1]))
    return float(least[0]), float(most[0])


def _earned(node: Node, model: LinearModel) -> float:
    return float(node.state @ model.rewards[:, node.actions[0]]) if node.actions else 0.0
