"""Greedy policies for many states at once, and as tables where their states are finitely many.

`AlphaPolicy` and `StagedPolicy` look one step ahead from a filtered state. From the start, by every
observation that can follow, they reach states that are often few: those become the nodes of a
controller, which is simulated and valued like any other. States equal but for rounding become one
node, by the tolerance of `rpsr.planning.walk`.
"""

from __future__ import annotations

import numpy as np

from rpsr.evaluation.stochastic import StochasticController, deterministic
from rpsr.io.records import Floats, Ints
from rpsr.models.linear import LinearModel
from rpsr.planning.finite import ROUNDING
from rpsr.planning.graph import TOLERANCE
from rpsr.planning.policies import AlphaPolicy, StagedPolicy, action_values
from rpsr.planning.states import StateTable

LIMIT = 4096  # nodes: beyond, states are filtered as they come

Greedy = AlphaPolicy | StagedPolicy


def horizon_of(policy: Greedy) -> int | None:
    """For how many steps a greedy policy has a plan; None for ever."""
    return len(policy.stages) - 1 if isinstance(policy, StagedPolicy) else None


def greedy_actions(policy: Greedy, states: Floats, step: int) -> Ints:
    """What the policy does in each state at a step (from 0), (B, n) -> (B,)."""
    vectors, epsilon = _value_function(policy, step)
    distinct, inverse = np.unique(states, axis=0, return_inverse=True)
    values = action_values(policy.model, distinct, vectors)
    scale = np.abs(values).max(axis=1, keepdims=True)
    tolerance = 4 * np.maximum(epsilon or 0.0, ROUNDING * scale)
    best = (values >= values.max(axis=1, keepdims=True) - tolerance).argmax(axis=1)
    return best[inverse.reshape(-1)]


def _value_function(policy: Greedy, step: int) -> tuple[Floats, float | None]:
    if isinstance(policy, StagedPolicy):
        return policy.stages[len(policy.stages) - 2 - step], None
    return policy.vectors, policy.epsilon


def tabulate(
    policy: Greedy, *, steps: int | None = None, limit: int = LIMIT
) -> StochasticController | None:
    """The controller that a greedy policy is, or None where it needs more nodes than the limit.

    steps: how many steps it must know; all that the policy has a plan for by default.
    """
    model, horizon = policy.model, horizon_of(policy)
    if horizon is not None and steps is not None:
        horizon = min(horizon, steps)
    nodes = _Nodes(model, by_step=horizon is not None)
    frontier, step = np.zeros(1, dtype=np.int64), 0
    while len(frontier) and (horizon is None or step < horizon):
        before = len(nodes)
        actions = greedy_actions(policy, nodes.states(frontier), step)
        last = horizon is not None and step == horizon - 1
        nodes.expand(frontier, actions, leaves=last)
        if len(nodes) > limit:
            return None
        frontier = np.arange(before, len(nodes))
        step += 1
    return deterministic(
        model.actions,
        model.observations,
        np.array(nodes.actions, dtype=np.int64),
        np.array(nodes.successors, dtype=np.int64),
        0,
        horizon,
    )


class _Nodes:
    """States found so far, with what is done in them and where that leads.

    by_step: states of different steps are different nodes.
    """

    def __init__(self, model: LinearModel, by_step: bool) -> None:
        self._model = model
        self._by_step = by_step
        self._table = self._new_table(model.start)
        self._states: list[Floats] = [model.start]
        self._offset = 0
        self.actions: list[int] = []
        self.successors: list[list[int]] = []

    def __len__(self) -> int:
        return len(self._states)

    def _new_table(self, first: Floats) -> StateTable:
        return StateTable(first, TOLERANCE, float(np.abs(self._model.start).max()))

    def states(self, nodes: Ints) -> Floats:
        """The states of nodes, (B,) -> (B, n)."""
        return np.stack([self._states[node] for node in nodes.tolist()])

    def expand(self, frontier: Ints, actions: Ints, leaves: bool) -> None:
        """Say what is done in the newest nodes, in order, and find the nodes that follow."""
        model, states = self._model, self.states(frontier)
        following = np.full((len(frontier), len(model.observations)), -1, dtype=np.int64)
        table = None if self._by_step else self._table
        first = len(self._states)
        for a, o in np.ndindex(len(model.actions), len(model.observations)):
            rows = np.flatnonzero(actions == a)
            if leaves or not len(rows):
                continue
            after = model.operators.left(states[rows], a, o)
            mass = after @ model.normalizer
            for row, state, chance in zip(rows.tolist(), after, mass.tolist(), strict=True):
                if chance <= model.rounding:
                    continue
                state = state / chance
                found = -1 if table is None else table.find(state)
                if found < 0:
                    found = 0
                    if table is None:
                        table = self._new_table(state)
                    else:
                        found = table.add(state)
                    self._states.append(state)
                following[row, o] = found + (first if self._by_step else 0)
        self.actions += actions.tolist()
        self.successors += following.tolist()
