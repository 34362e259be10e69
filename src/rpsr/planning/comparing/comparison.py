"""Comparison of two policies: where they differ, and by how much value.

Along reachable states: both run from the start until they differ; each difference is reported with
the first history that leads to it. Over the domain: both act at the same random mixtures of
corners, in any coordinates, so that a policy for a POMDP can be compared with one for its R-PSR.
The cost of a difference is the one-step value of the first action minus that of the second. Two
optimal policies may differ at no cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rpsr.errors import ModelError
from rpsr.io.records import Floats
from rpsr.models.as_model import as_linear, wrong_type
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.planning.as_policy import AnyPolicy, as_policy
from rpsr.planning.comparing.joint_runs import History, policy_value, walk
from rpsr.planning.solution import Solution
from rpsr.planning.value.policies import AlphaPolicy
from rpsr.planning.value.value_function import action_values


@dataclass(frozen=True)
class Difference:
    """A state where two policies take different actions.

    state (n,): of the model they were compared on. history: the first that leads there, and its
    probability. cost: one-step value of the first policy's action minus that of the second's; None
    without a value function.
    """

    state: Floats
    history: History
    probability: float
    actions: tuple[str, str]
    cost: float | None


@dataclass(frozen=True)
class Comparison:
    """The result of comparing two policies.

    states: the number of states compared. complete: whether these are all states that can be
    reached before the policies differ. values: bounds (low, high) on each value at the start.
    """

    differences: tuple[Difference, ...]
    states: int
    complete: bool
    values: tuple[tuple[float, float], tuple[float, float]] | None = None

    @property
    def same(self) -> bool:
        """Whether no difference was found."""
        return not self.differences

    @property
    def largest_cost(self) -> float | None:
        """The largest cost of a difference, 0 without any; None if costs are unknown."""
        costs = [difference.cost for difference in self.differences]
        known = [abs(cost) for cost in costs if cost is not None]
        return None if len(known) < len(costs) else max(known, default=0.0)


def compare(
    first: AnyPolicy,
    second: AnyPolicy,
    model: POMDP | LinearModel,
    *,
    steps: int | None = None,
    limit: int = 1000,
    vectors: Floats | None = None,
) -> Comparison:
    """Compare two policies along the states they reach in a model, from its start.

    A plan is followed as by `AlphaPolicy.of`: almost equal actions are no difference.
    steps: the largest depth. limit: the largest number of states. vectors (K, n): a value function
    of the model, which gives the cost of differences.
    """
    model = as_linear(model)
    both = tuple(
        as_policy(_steady(given), model, what)
        for given, what in ((first, "first"), (second, "second"))
    )
    nodes = walk(both, model, steps=steps, limit=limit)
    asked = [node for node in nodes if node.actions]
    apart = [node for node in asked if node.actions[0] != node.actions[1]]
    costs: list[float | None] = [None] * len(apart)
    if vectors is not None and apart:
        values = action_values(model, np.stack([node.state for node in apart]), vectors)
        costs = [
            float(row[node.actions[0]] - row[node.actions[1]])
            for row, node in zip(values, apart, strict=True)
        ]
    names = model.actions
    differences = tuple(
        Difference(
            node.state,
            node.history,
            node.probability,
            (names[node.actions[0]], names[node.actions[1]]),
            cost,
        )
        for node, cost in zip(apart, costs, strict=True)
    )
    worth = tuple(policy_value(policy, model, steps=steps, limit=limit) for policy in both)
    complete = all(len(node.history) == steps for node in nodes if not node.actions)
    return Comparison(differences, len(asked), complete, (worth[0], worth[1]))


def compare_over_domain(
    first: AlphaPolicy | Solution,
    second: AlphaPolicy | Solution,
    *,
    samples: int = 1000,
    seed: int = 0,
) -> Comparison:
    """Compare two policies at random states; the first one's value function gives costs.

    Their models must be models of the same POMDP: corners are matched in order. The corners are
    compared too. `probability` of a difference is its share of the samples.
    """
    first, second = _by_values(first, "first"), _by_values(second, "second")
    corners = first.model.domain.corners, second.model.domain.corners
    if len(corners[0]) != len(corners[1]) or first.model.actions != second.model.actions:
        raise ModelError(f"{first.model} and {second.model} are not models of the same POMDP")
    k = len(corners[0])
    rng = np.random.default_rng(seed)
    weights = np.vstack([np.eye(k), rng.dirichlet(np.full(k, 0.5), samples)])
    states = weights @ corners[0], weights @ corners[1]
    values = action_values(first.model, states[0], first.vectors)
    names = first.model.actions
    differences: list[Difference] = []
    for x, y, row in zip(*states, values, strict=True):
        a, b = first.action_at(x), second.action_at(y)
        if a != b:
            cost = float(row[a] - row[b])
            differences.append(Difference(x, (), 1 / len(weights), (names[a], names[b]), cost))
    return Comparison(tuple(differences), len(weights), False)


def _steady(given: Any) -> Any:
    """A plan for the infinite horizon as a policy that takes the lowest of almost equal actions."""
    comparable = isinstance(given, Solution) and given.horizon is None
    return AlphaPolicy.of(given) if comparable else given


def _by_values(given: Any, what: str) -> AlphaPolicy:
    """The argument as a policy that acts by a value function."""
    if isinstance(given, Solution):
        return AlphaPolicy.of(given)
    if not isinstance(given, AlphaPolicy):
        raise wrong_type(given, what, "a plan, or a policy that acts by a value function")
    return given
