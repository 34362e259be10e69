"""Backward induction on a graph of reachable states, for a finite horizon.

If a limit stopped the exploration, the steps that were explored, solved and evaluated in time are
planned, and the others take one action (see `rest_of_horizon`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from rpsr.io.records import Ints
from rpsr.planning.convergence import TIED
from rpsr.planning.corners.corner_model import CornerProcess
from rpsr.planning.corners.proven_worth import tree_at_start
from rpsr.planning.finite_mdp import lowest_within
from rpsr.planning.limits import Clock
from rpsr.planning.reachable.plans import Plan, hidden, rounding_of, size_of_rewards, value_bounds
from rpsr.planning.reachable.reachable_graph import ReachableGraph
from rpsr.planning.rest_of_horizon import SEEING, completed, seen_over
from rpsr.planning.solution import Status
from rpsr.planning.value.trees import PolicyTree
from rpsr.planning.value.value_function import ValueFunction

SOLVING, VALUING = 0.3, 0.4  # of the time left, one after the other
MOST_CHOICES = 2**25  # numbers in the actions and successors of one step


def plan_horizon(
    graph: ReachableGraph,
    process: CornerProcess | None,
    discount: float,
    horizon: int,
    clock: Clock,
) -> Plan | None:
    """Plan a finite horizon; None if a limit came first and the domain is unknown.

    process: the model at its corners; None if its domain is unknown.
    """
    model = graph.model
    # Unexplored states can be used for one step, the last.
    most = min(horizon, int(graph.depth.max()) + 1) if graph.stopped else horizon
    total = sum(discount**k for k in range(most))
    solved = _solved(graph, discount, most, total, clock.share(SOLVING))
    chosen, stopped = solved.actions, Status.TIME if len(solved.actions) < most else None
    width = 1 + len(model.observations)
    fit = [int((graph.depth <= d).sum()) * width <= MOST_CHOICES for d in range(len(chosen) - 1)]
    if solved.tops is not None and not all(fit):
        chosen, stopped = chosen[: 1 + sum(fit)], Status.SIZE
    layers = _layers(graph, chosen)
    stages = PolicyTree(model.actions, model.observations, tuple(layers)).stages(
        model, clock.share(VALUING)
    )
    steps = len(stages)
    if steps < len(layers):
        stopped, layers = Status.TIME, _layers(graph, chosen[:steps])
        stages = PolicyTree(model.actions, model.observations, tuple(layers)).stages(model)
    value = float(stages[-1][0] @ model.start)
    # The rounding of each step, for values up to total * the largest reward, adds up.
    rounding = rounding_of(model) * total**2 * size_of_rewards(graph) + total * model.reward_error
    joined = tuple(ValueFunction(v, *layer) for v, layer in zip(stages, layers, strict=True))
    if solved.tops is None or process is None:
        if steps < horizon:
            return None
        return Plan(value, value - rounding, None, 2 * rounding, joined[-1], joined, stopped)
    following = [np.column_stack([chosen, np.maximum(after, 0)]) for chosen, after in layers]
    lower = tree_at_start(process, stages, following)
    upper = max(value, solved.tops[steps - 1]) + rounding
    rounded = rounding + value - lower
    if steps < horizon:
        later = sum(discount**k for k in range(steps, horizon))
        upper += later * float(process.rewards.max()) + horizon * rounding
        planned = [replace(stage, vectors=process.at_corners(stage.vectors)) for stage in joined]
        joined, value, lower = completed(process, planned, horizon, value - lower, clock)
    # What is paid for merged states may exceed what seeing the state would earn.
    upper = min(upper, seen_over(process, horizon, clock.share(SEEING)))
    return Plan(value, lower, upper, rounded, joined[-1], joined, stopped)


class _Solved(NamedTuple):
    """The best actions (N,) with 1, 2, ... steps to go.

    tops: upper bounds on the optimal values at the start of as many steps; None if the domain is
    unknown.
    """

    actions: list[Ints]
    tops: list[float] | None


def _solved(
    graph: ReachableGraph, discount: float, steps: int, total: float, clock: Clock
) -> _Solved:
    """Backward induction, of one step at least; total: the sum of the discounts of all steps."""
    rewards = graph.states @ graph.model.rewards
    problem = graph.problem(rewards, discount)
    paid = hidden(graph, value_bounds(graph.model, total))
    above = None if paid is None else graph.problem(rewards + discount * paid, discount)
    values = best = np.zeros(len(rewards))
    actions: list[Ints] = []
    tops: list[float] = []
    while len(actions) < steps and not (actions and clock.over):
        choices = problem.action_values(values)
        scale = float(np.abs(choices).max())
        actions.append(lowest_within(choices, TIED * scale))
        values = choices.max(axis=1)
        if above is not None:
            best = above.action_values(best).max(axis=1)
            tops.append(float(best[0]))
    return _Solved(actions, None if above is None else tops)


def _layers(graph: ReachableGraph, chosen: list[Ints]) -> list[tuple[Ints, Ints]]:
    """The layers of a tree; chosen[k - 1] (N,): actions with k steps to go.

    With k steps to go, only states within steps - k of the start can be reached; they come first,
    since exploration is in order of depth. States with equal action and successors share a node.
    """
    first, node = np.unique(chosen[0][graph.depth < len(chosen)], return_inverse=True)
    never = np.full((len(first), len(graph.model.observations)), -1, dtype=np.int64)
    layers: list[tuple[Ints, Ints]] = [(first, never)]
    for k, actions in enumerate(chosen[1:], 2):
        met = np.arange(int((graph.depth <= len(chosen) - k).sum()))
        after = graph.successors(actions, met)
        choices = np.column_stack([actions[met], np.where(after < 0, -1, node[after])])
        whole_rows = np.ascontiguousarray(choices).view(np.dtype((np.void, choices[0].nbytes)))
        _, kept, node = np.unique(whole_rows.ravel(), return_index=True, return_inverse=True)
        layers.append((choices[kept, 0], choices[kept, 1:]))
    return layers
