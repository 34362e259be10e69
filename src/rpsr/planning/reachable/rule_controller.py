"""A decision rule, explored from the start and converted to a finite-state controller.

A rule maps states of a model to actions. The first states that it reaches from the start, up to a
number, become nodes; close states are merged. Beyond them, and after an unexpected observation, the
controller continues with the blind policy that is best there. Its value solves a linear system (see
`controllers`). So the vectors are values of an explicit policy, in spite of merging.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rpsr.io.records import Bools, Floats, Ints
from rpsr.models.linear import LinearModel
from rpsr.planning.limits import Clock
from rpsr.planning.reachable.reachable_graph import TOLERANCE, ReachableGraph, explore
from rpsr.planning.solution import Status
from rpsr.planning.value.controllers import FiniteStateController
from rpsr.planning.value.value_function import ValueFunction

EXPLORING, EVALUATING = 0.5, 0.8  # of the time that is left when each begins
Rule = Callable[[Floats], Ints]  # states (B, n) -> actions (B,)


def followed(
    model: LinearModel,
    rule: Rule,
    blind: ValueFunction,
    limit: int,
    *,
    tolerance: float = TOLERANCE,
    clock: Clock | None = None,
) -> tuple[ValueFunction, ReachableGraph]:
    """The controller of a rule and its values, and the graph of the states that it reaches.

    blind: policies to continue with beyond `limit` states. tolerance: see `explore`. clock: its
    limits end the exploration early, as the limit of states does; after Ctrl-C it is hurried.
    """

    def allowed(states: Floats) -> Bools:
        return np.arange(len(model.actions)) == rule(states)[:, None]

    graph = explore(
        model,
        limit=limit,
        clock=None if clock is None else clock.share(EXPLORING),
        tolerance=tolerance,
        allowed=allowed,
        partial=True,
    )
    if clock is not None and graph.stopped is Status.INTERRUPTED:
        clock = clock.hurried()
    actions, size = rule(graph.states), len(graph.states)
    fallback = blind.best(graph.states)
    successors = graph.successors(actions)
    successors = np.where(successors < 0, size + fallback[:, None], successors)
    actions = np.where(graph.open, blind.actions[fallback], actions)
    successors[graph.open] = (size + blind.successors[fallback])[graph.open]
    actions = np.append(actions, blind.actions)
    successors = np.vstack([successors, size + blind.successors])
    made = FiniteStateController(model.actions, model.observations, actions, successors)
    vectors = made.vectors(model, None if clock is None else clock.share(EVALUATING))
    return ValueFunction(vectors, actions, successors), graph
