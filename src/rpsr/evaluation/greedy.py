"""Greedy policies for many states at once, and as controllers if they reach few states.

`AlphaPolicy` and `StagedPolicy` act by a value function at a filtered state. The states that they
can reach from the start are often few. These become the nodes of a controller, which is simulated
and evaluated like any other. States that are equal up to rounding become one node, with the
tolerance of `rpsr.planning.comparing.joint_runs`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rpsr.evaluation.stochastic import StochasticController, deterministic
from rpsr.io.records import Floats, Ints
from rpsr.models.as_model import wrong_type
from rpsr.models.linear import LinearModel
from rpsr.planning.reachable.reachable_graph import TOLERANCE
from rpsr.planning.reachable.state_set import StateTable
from rpsr.planning.value.policies import AlphaPolicy, StagedPolicy

LIMIT = 4096  # nodes: beyond, states are filtered during simulation
LIMIT_NUMBERS = 2**20  # in the states of all nodes: finding those of a large model takes long

Greedy = AlphaPolicy | StagedPolicy


def horizon_of(policy: Greedy) -> int | None:
    """The number of steps that a greedy policy has a plan for; None: infinite horizon."""
    return len(policy.stages) - 1 if isinstance(policy, StagedPolicy) else None


def greedy_actions(policy: Greedy, states: Floats, step: int) -> Ints:
    """The policy's action in each state at a step (from 0), (B, n) -> (B,)."""
    distinct, inverse = _distinct(states)
    if isinstance(policy, StagedPolicy):
        actions = policy.actions_at(distinct, len(policy.stages) - 1 - step)
    else:
        actions = policy.actions_at(distinct)
    return actions[inverse]


def _distinct(states: Floats) -> tuple[Floats, Ints]:
    """The different rows (K, n) of (B, n), and which of them each row is, (B,).

    Rows are compared as bytes, many times faster than number by number.
    """
    rows = np.ascontiguousarray(states + 0.0)  # -0.0 becomes 0.0
    keys = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).reshape(-1)
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return rows[first], inverse.reshape(-1)


def tabulate(
    policy: Greedy, *, steps: int | None = None, limit: int = LIMIT
) -> StochasticController | None:
    """A greedy policy as a controller, or None if it needs more nodes than the limit.

    steps: the number of steps needed; by default all that the policy has a plan for.
    """
    given: Any = policy
    if not isinstance(given, AlphaPolicy | StagedPolicy):
        raise wrong_type(given, "policy", "a policy that acts by a value function")
    model, horizon = policy.model, horizon_of(policy)
    if horizon is not None and steps is not None:
        horizon = min(horizon, steps)
    nodes, limit = _Nodes(model), min(limit, LIMIT_NUMBERS // model.dimension)
    frontier, step = [model.start], 0
    while frontier and (horizon is None or step < horizon):
        states = np.stack(frontier)
        actions = greedy_actions(policy, states, step)
        step += 1
        if step == horizon:
            nodes.end(actions)
            break
        frontier = nodes.expand(states, actions, apart=horizon is not None)
        if len(nodes) > limit:
            return None
    return deterministic(
        model.actions,
        model.observations,
        np.array(nodes.actions, dtype=np.int64),
        np.array(nodes.successors, dtype=np.int64),
        0,
        horizon,
    )


class _Nodes:
    """The states found so far, their actions and successors, level by level."""

    def __init__(self, model: LinearModel) -> None:
        self._model = model
        self._size = float(np.abs(model.start).max())
        self._table: StateTable | None = StateTable(model.start, TOLERANCE, self._size)
        self._first = 0  # the node of the table's first state
        self._count = 1
        self.actions: list[int] = []
        self.successors: list[list[int]] = []

    def __len__(self) -> int:
        return self._count

    def expand(self, states: Floats, actions: Ints, *, apart: bool) -> list[Floats]:
        """Add the actions of the newest nodes, (B, n) and (B,); returns the new states.

        apart: the next level's states are new nodes, even if equal to earlier ones.
        """
        model = self._model
        if apart:
            self._table = None
        following = np.full((len(states), len(model.observations)), -1, dtype=np.int64)
        added: list[Floats] = []
        for a in np.unique(actions).tolist():
            taken = np.flatnonzero(actions == a)
            possible = states[taken] @ model.emissions[a] > 0  # of many observations, few are
            for o in np.flatnonzero(possible.any(axis=0)).tolist():
                rows = taken[possible[:, o]]
                after, mass = model.moved(states[rows], a, o)
                for row in np.flatnonzero(mass > model.rounding).tolist():
                    state = after[row] / mass[row]
                    following[rows[row], o] = self._node(state, added)
        self.actions += actions.tolist()
        self.successors += following.tolist()
        return added

    def _node(self, state: Floats, added: list[Floats]) -> int:
        if self._table is None:
            self._table = StateTable(state, TOLERANCE, self._size)
            self._first, index = self._count, 0
        else:
            index = self._table.find(state)
            if index >= 0:
                return self._first + index
            index = self._table.add(state)
        added.append(state)
        self._count += 1
        return self._first + index

    def end(self, actions: Ints) -> None:
        """Add the actions of the newest nodes, the last of the plan."""
        self.actions += actions.tolist()
        self.successors += [[-1] * len(self._model.observations)] * len(actions)
