"""Policy iteration on a graph of reachable states, for the infinite horizon."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.models.linear import LinearModel
from rpsr.models.rounding import weighted_mean
from rpsr.planning.convergence import TIED, infinite_discount
from rpsr.planning.corners.cheap_bounds import (
    above_corners,
    blind_values,
    mdp_values,
    upper_at_start,
)
from rpsr.planning.corners.corner_model import CornerProcess
from rpsr.planning.corners.proven_worth import worth_at_start
from rpsr.planning.finite_mdp import lowest_within
from rpsr.planning.limits import Clock
from rpsr.planning.reachable.plans import Plan, hidden, rounding_of, size_of_rewards, sizes
from rpsr.planning.reachable.reachable_graph import ReachableGraph
from rpsr.planning.value.controllers import FiniteStateController
from rpsr.planning.value.value_function import ValueFunction

MOST_NUMBERS = 2**24  # of a controller's vectors and successors, if states are unexplored


def plan_infinite(
    graph: ReachableGraph, process: CornerProcess | None, discount: float, clock: Clock
) -> Plan:
    """Policy iteration on the graph; its controller, and bounds on the optimal value.

    process: the model at its corners; None if its domain is unknown.
    """
    model, rewards = graph.model, graph.states @ graph.model.rewards
    blind = _Blind(0, np.zeros(model.dimension))
    if process is not None:
        blind = _blind(process, clock.share(0.2))
    elif graph.open.any() or clock.time_limit is not None:
        blind = _blind_without_corners(model, clock.share(0.2))
    # Unexplored states have no edges: their rewards are their values.
    rewards[graph.open] = (graph.states @ blind.vector)[graph.open, None]
    problem = graph.problem(rewards, discount)
    values, _ = problem.optimum(clock.share(0.3))
    scale = float(np.abs(values).max())
    actions = lowest_within(problem.action_values(values), TIED * scale)
    actions[graph.open] = blind.action
    followed = _followed(graph, process, actions, blind, scale, clock)
    value, lower = followed.value, max(followed.lower, min(blind.least, followed.value))
    if process is None:
        return Plan(value, lower, None, value - lower, followed.value_function)
    upper, off = _upper(graph, process, rewards, blind.worst, value, clock)
    return Plan(value, lower, max(lower, upper), off + value - lower, followed.value_function)


@dataclass(frozen=True, eq=False)
class _Followed:
    """A controller with its vectors, its value at the start, and the proven part of that."""

    controller: FiniteStateController
    vectors: Floats
    value: float
    lower: float

    @property
    def value_function(self) -> ValueFunction:
        """Its value function; impossible observations restart the controller."""
        successors = np.maximum(self.controller.successors, 0)
        return ValueFunction(self.vectors, self.controller.actions, successors)


def _followed(
    graph: ReachableGraph,
    process: CornerProcess | None,
    actions: Ints,
    blind: _Blind,
    scale: float,
    clock: Clock,
) -> _Followed:
    """The controller of the actions (N,), or the best blind policy where it is proven better.

    scale: the largest absolute value of a state.
    """
    model = graph.model

    def valued(controller: FiniteStateController) -> _Followed:
        vectors = controller.vectors(model, clock.share(0.6))
        value = float(vectors[0] @ model.start)
        if process is None:
            size = scale / (1 - infinite_discount(model))
            size += float(np.abs(vectors[0]) @ np.abs(model.start))
            return _Followed(controller, vectors, value, value - rounding_of(model) * size)
        choices = np.column_stack([controller.actions, np.maximum(controller.successors, 0)])
        return _Followed(controller, vectors, value, worth_at_start(process, vectors, choices, 0))

    best = valued(_controller(graph, actions, blind.action))
    worse = clock.time_limit is not None
    if process is not None:  # except for rounding, of the controller and of the blind policy
        rounding = process.rounding(scale + process.largest_reward) * process.ahead
        worse = blind.least > min(best.lower + 2 * rounding, best.value)
    if not worse:
        return best
    # Time may be too short for all these nodes; a blind policy has only one.
    plain = valued(_always(model, blind.action))
    if blind.least > plain.value:  # too short for one node, too
        value = float(blind.vector @ model.start)
        plain = _Followed(plain.controller, blind.vector[None], value, blind.least)
    return plain if plain.lower > best.lower else best


def _upper(
    graph: ReachableGraph,
    process: CornerProcess,
    rewards: Floats,
    worst: float,
    value: float,
    clock: Clock,
) -> tuple[float, float]:
    """An upper bound on the optimal value at the start, and the part of it that is error.

    rewards (N, A). worst: a lower bound on the optimal value of every state. value: that of the
    controller found.
    """
    model, discount = graph.model, infinite_discount(graph.model)
    ahead = 1 / (1 - discount)
    seen = mdp_values(process, clock.share(0.3))
    paid = hidden(graph, (worst, float(seen.max())))
    assert paid is not None, "the domain is known"
    rewards = rewards + discount * paid
    rewards[graph.open] = _seen_at(process, seen, graph.states)[graph.open, None]
    above = graph.problem(rewards, discount)
    most = float(rewards[~graph.open].max(initial=-np.inf)) * ahead
    most = max(most, float(rewards[graph.open].max(initial=-np.inf)))
    swept, best = above.from_above(np.full(len(rewards), most), clock)
    missed = max(0.0, float((above.action_values(best).max(axis=1) - best).max())) * ahead
    rounded = rounding_of(model) * (float(np.abs(swept).max()) + size_of_rewards(graph))
    rounded = (rounded + model.reward_error) * ahead
    upper = max(value, min(float(best[0]) + missed, float(swept[0]))) + rounded
    return min(upper, upper_at_start(process, seen[None])), rounded + missed


def _seen_at(process: CornerProcess, values: Floats, states: Floats) -> Floats:
    """Upper bounds on values of states (B, n) if corners, with values (k,), are observed, (B,).

    If values are not linear in the model's states, a linear function above them is used.
    """
    vector = above_corners(process, values[None])[0]
    size = sizes(states, vector[:, None])[:, 0]
    off = weighted_mean(len(vector)) * size  # x was divided by x e
    return states @ vector + off + process.displaced * float(np.abs(values).max())


def _controller(graph: ReachableGraph, actions: Ints, blind: int) -> FiniteStateController:
    """One node per state, and one that repeats the blind action, for unexplored states.

    In an unfinished graph, only the states that the actions (N,) reach have nodes.
    """
    model, n_observations = graph.model, len(graph.model.observations)
    if not graph.open.any():
        return FiniteStateController(
            model.actions, model.observations, actions, graph.successors(actions)
        )
    most = max(1, MOST_NUMBERS // (n_observations + model.dimension))
    met = graph.met(actions, most)
    place = np.full(len(graph.states) + 1, len(met))
    place[met] = np.arange(len(met))
    place[-1] = -1  # impossible
    successors = place[graph.successors(actions, met)]
    return FiniteStateController(
        model.actions,
        model.observations,
        np.append(actions[met], blind),
        np.vstack([successors, np.full((1, n_observations), len(met))]),
    )


def _always(model: LinearModel, action: int) -> FiniteStateController:
    """One action at every step."""
    successors = np.zeros((1, len(model.observations)), dtype=np.int64)
    return FiniteStateController(model.actions, model.observations, np.array([action]), successors)


@dataclass(frozen=True, eq=False)
class _Blind:
    """The best blind policy at the start: its action and its values (n,).

    least: its proven value at the start. worst: the proven value at every corner of the blind
    policy that is best at its worst corner.
    """

    action: int
    vector: Floats
    least: float = -np.inf
    worst: float = -np.inf


def _blind(process: CornerProcess, clock: Clock) -> _Blind:
    values = blind_values(process, clock)
    vectors = process.lift(values)
    action = int((vectors @ process.model.start).argmax())
    value, off = process.value_at_start(values)
    return _Blind(action, vectors[action], value - off, float(values.min(axis=1).max()))


def _blind_without_corners(model: LinearModel, clock: Clock) -> _Blind:
    """The same in coordinates, where actions may diverge; nothing is proven."""
    vectors = [
        _always(model, a).vectors(model, clock.share(1 / (len(model.actions) - a)))[0]
        for a in range(len(model.actions))
    ]
    action = int((np.array(vectors) @ model.start).argmax())
    return _Blind(action, vectors[action])
