"""Stochastic controllers: the common form of all policies with finitely many memory states.

A node has a probability for each action, and a successor for each action and observation. The
uniform policy has one node. A finite-state controller has one action per node. A policy tree is a
controller without loops. The nodes of a greedy policy are its filtered states, if these are
finitely many.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rpsr.errors import InputError, ModelError
from rpsr.io.records import Floats, Ints, frozen
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.planning.value.controllers import FiniteStateController
from rpsr.planning.value.trees import PolicyTree
from rpsr.showing import Shown, counted, some


@dataclass(frozen=True, eq=False, repr=False)
class StochasticController(Shown):
    """K nodes: probabilities (K, A) of actions and successors (K, A, O), starting in node `first`.

    A successor of -1 means that the policy has no successor for an observation; its occurrence in
    a simulation is an error. horizon: number of steps of the plan; None: infinite.
    """

    action_names: tuple[str, ...]
    observation_names: tuple[str, ...]
    probabilities: Floats
    successors: Ints
    first: int = 0
    horizon: int | None = None

    def __post_init__(self) -> None:
        for name, kind in (("probabilities", np.float64), ("successors", np.int64)):
            given: Any = np.array(getattr(self, name), dtype=kind)
            object.__setattr__(self, name, frozen(given))
        n_actions, n_observations = len(self.action_names), len(self.observation_names)
        shapes = self.probabilities.shape, self.successors.shape
        n_nodes = shapes[0][0] if shapes[0] else 0
        expected = (n_nodes, n_actions), (n_nodes, n_actions, n_observations)
        if n_nodes == 0:
            raise InputError("probabilities: read no nodes, expected at least one")
        if shapes != expected:
            raise InputError(
                f"probabilities, successors: read shapes {shapes}, expected {expected}"
            )
        rows = self.probabilities
        if not (rows >= 0).all() or np.abs(rows.sum(axis=1) - 1).max() > 1e-9:
            raise InputError("probabilities: expected probabilities that sum to 1 at each node")
        if self.successors.min() < -1 or self.successors.max() >= n_nodes:
            raise InputError(
                f"successors: read numbers from {self.successors.min()} to "
                f"{self.successors.max()}, expected numbers from -1 to {n_nodes - 1}"
            )
        if not 0 <= self.first < n_nodes:
            raise InputError(f"first: read {self.first}, expected a node from 0 to {n_nodes - 1}")

    def __len__(self) -> int:
        return len(self.probabilities)

    def title(self) -> str:
        """A description in one line."""
        ahead = "" if self.horizon is None else f", for {counted(self.horizon, 'step')}"
        return (
            f"stochastic controller: {counted(len(self), 'node')}, "
            f"{counted(len(self.action_names), 'action')}, "
            f"{counted(len(self.observation_names), 'observation')}{ahead}"
        )

    def facts(self) -> list[tuple[str, str]]:
        """The action probabilities of the first node, and the names of actions and observations."""
        row = self.probabilities[self.first]
        chances = [f"{self.action_names[a]} {row[a]:.3g}" for a in np.flatnonzero(row).tolist()]
        return [
            ("first", f"node {self.first}: {some(chances)}"),
            ("actions", some(self.action_names)),
            ("observations", some(self.observation_names)),
        ]

    @cached_property
    def cumulative(self) -> Floats:
        """Sums of the probabilities of actions, (K, A), as `cumulative` makes them."""
        return cumulative(self.probabilities)

    @staticmethod
    def stationary(model: POMDP | LinearModel, probabilities: Any = None) -> StochasticController:
        """Actions sampled at each step with fixed probabilities (A,), uniform by default."""
        n_actions, n_observations = len(model.actions), len(model.observations)
        even = np.full(n_actions, 1 / n_actions)
        row = even if probabilities is None else np.asarray(probabilities, dtype=np.float64)
        stay = np.zeros((1, n_actions, n_observations), dtype=np.int64)
        return StochasticController(model.actions, model.observations, row[None], stay)

    @staticmethod
    def of(controller: FiniteStateController) -> StochasticController:
        """A deterministic controller; it restarts after an observation without a successor."""
        successors = np.where(controller.successors < 0, controller.first, controller.successors)
        return deterministic(
            controller.action_names,
            controller.observation_names,
            controller.actions,
            successors,
            controller.first,
        )

    @staticmethod
    def of_tree(tree: PolicyTree) -> StochasticController:
        """A policy tree: its layers in order, of which the last comes first in time."""
        actions = [actions for actions, _ in reversed(tree.layers)]
        ends = np.cumsum([len(layer) for layer in actions])
        successors = [
            np.maximum(successors, 0) + end
            for (_, successors), end in zip(reversed(tree.layers[1:]), ends[:-1], strict=True)
        ]
        successors.append(np.full_like(tree.layers[0][1], -1))
        return deterministic(
            tree.action_names,
            tree.observation_names,
            np.concatenate(actions),
            np.concatenate(successors),
            tree.root,
            tree.horizon,
        )

    def check(self, system: POMDP | LinearModel, steps: int | None = None) -> None:
        """Refuse a system with other names, or more steps than the plan has."""
        check_fit(self.action_names, self.observation_names, self.horizon, system, steps)


def check_fit(
    action_names: tuple[str, ...],
    observation_names: tuple[str, ...],
    horizon: int | None,
    system: POMDP | LinearModel,
    steps: int | None,
) -> None:
    """Refuse a policy whose names are not the system's, or whose plan is too short."""
    for kind, mine, theirs in (
        ("actions", action_names, system.actions),
        ("observations", observation_names, system.observations),
    ):
        if mine != theirs:
            raise ModelError(
                f"the policy has the {kind} {', '.join(mine)}, expected those of the system, in "
                f"its order: {', '.join(theirs)}"
            )
    if horizon is not None and (steps is None or steps > horizon):
        asked = "an infinite horizon" if steps is None else counted(steps, "step")
        raise ModelError(
            f"the policy has a plan for {counted(horizon, 'step')}, expected one for {asked}"
        )


def deterministic(
    action_names: tuple[str, ...],
    observation_names: tuple[str, ...],
    actions: Ints,
    successors: Ints,
    first: int,
    horizon: int | None = None,
) -> StochasticController:
    """A controller of nodes with one action each, (K,) and (K, O)."""
    n_nodes, n_actions = len(actions), len(action_names)
    probabilities = np.zeros((n_nodes, n_actions))
    probabilities[np.arange(n_nodes), actions] = 1.0
    table = np.broadcast_to(successors[:, None], (n_nodes, n_actions, len(observation_names)))
    return StochasticController(
        action_names, observation_names, probabilities, table, first, horizon
    )


def cumulative(probabilities: Floats) -> Floats:
    """Sums of rows of probabilities, (K, A) -> (K, A); u in [0, 1) picks the first sum above u.

    From the last possible action on, the sum is set to 1 despite rounding, so that no u < 1 picks
    an impossible action.
    """
    sums = np.cumsum(probabilities, axis=1)
    later = np.cumsum(probabilities[:, ::-1], axis=1)[:, ::-1] - probabilities
    sums[later <= 0] = 1.0
    return sums
