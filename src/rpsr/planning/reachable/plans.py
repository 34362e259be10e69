"""A plan on a graph of reachable states, and the error that the graph may cause in one step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rpsr.io.records import Floats
from rpsr.models.linear import LinearModel
from rpsr.models.rounding import one_step
from rpsr.planning.reachable.reachable_graph import ReachableGraph
from rpsr.planning.solution import Status
from rpsr.planning.value.value_function import ValueFunction

AT_ONCE = 256  # states: a copy of all of them may take seconds


@dataclass(frozen=True, eq=False)
class Plan:
    """Bounds on the value at the start, and the value of what was found."""

    value: float
    lower: float
    upper: float | None
    rounded: float  # the part of the gap that is rounding
    value_function: ValueFunction
    stages: tuple[ValueFunction, ...] = ()
    stopped: Status | None = None  # finite horizon: why not all steps were planned


def value_bounds(model: LinearModel, total: float) -> tuple[float, float] | None:
    """The least and greatest possible value; total: the sum of discounts."""
    if not model.domain.known:
        return None
    rewards = model.domain.at_corners(model.rewards)
    return total * float(rewards.min()), total * float(rewards.max())


def rounding_of(model: LinearModel) -> float:
    """A bound on the rounding error of a one-step value, relative to values and rewards."""
    domain = model.domain
    corners = domain.size if domain.known and not domain.beliefs else 0
    return one_step(model.dimension, len(model.observations), corners)


def size_of_rewards(graph: ReachableGraph) -> float:
    """The largest sum_i |x_i R_ia| over the states x: rounding errors are relative to it."""
    return float(sizes(graph.states, graph.model.rewards).max())


def sizes(states: Floats, weights: Floats) -> Floats:
    """|x| @ |weights| for each state x: states (N, n), weights (n, A) -> (N, A)."""
    totals, weights = np.empty((len(states), weights.shape[1])), np.abs(weights)
    for begin in range(0, len(states), AT_ONCE):
        rows = slice(begin, begin + AT_ONCE)
        totals[rows] = np.abs(states[rows]) @ weights
    return totals


def hidden(graph: ReachableGraph, bounds: tuple[float, float] | None) -> Floats | None:
    """The error of merging and rounding in one step, (N, A), undiscounted; None: unknown."""
    if bounds is None or graph.edges.shift is None:
        return None
    merged = graph.per_choice(graph.edges.shift) * (bounds[1] - bounds[0]) / 2
    return merged + graph.lost * max(map(abs, bounds))
