"""Policy trees: plans for a finite horizon, the objects of the paper's value iteration.

A tree of k steps is an action and, for every observation, a tree of k - 1 steps. Trees share
subtrees, so a plan is stored as layers: layer k has trees of k steps that point into layer k - 1.
The value of a tree is linear in the state, alpha = R[:, a] + discount * sum_o M[a, o] alpha_o.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rpsr.errors import InputError, ModelError
from rpsr.io.records import Floats, Ints
from rpsr.models.as_model import as_linear
from rpsr.models.labels import Label, index_of, observed
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.planning.convergence import planning_discount
from rpsr.planning.limits import Clock, LimitReached, no_limits
from rpsr.planning.solution import Solution
from rpsr.planning.value.policies import Policy
from rpsr.planning.value.value_function import contributing
from rpsr.showing import Shown, counted, some


@dataclass(frozen=True, eq=False, repr=False)
class PolicyTree(Shown):
    """A policy tree for a finite horizon, stored in layers.

    layers[k - 1]: the trees of k steps, as actions (K_k,) and successors (K_k, O), which are
    indices of trees of k - 1 steps. root: the index of the whole plan in the last layer. A
    successor of -1: the observation is not expected; if it occurs, tree 0 of k - 1 steps follows.
    """

    action_names: tuple[str, ...]
    observation_names: tuple[str, ...]
    layers: tuple[tuple[Ints, Ints], ...]
    root: int = 0

    def __post_init__(self) -> None:
        below = 0
        for steps, (actions, successors) in enumerate(self.layers, 1):
            expected = (len(actions), len(self.observation_names))
            if len(actions) == 0:
                raise InputError(f"layer {steps}: read no trees, expected at least one")
            if successors.shape != expected:
                raise InputError(
                    f"layer {steps}: successors: read shape {successors.shape}, expected (trees, "
                    f"observations), {expected}"
                )
            sound = actions.min() >= 0 and actions.max() < len(self.action_names)
            if not sound or (steps > 1 and successors.max() >= below) or successors.min() < -1:
                raise InputError(
                    f"layer {steps}: expected indices of actions, and of trees in the layer before"
                )
            below = len(actions)
        if not 0 <= self.root < below:
            raise InputError(
                f"root: read {self.root}, expected an index below {below}, the number of trees in "
                "the last layer"
            )

    @staticmethod
    def of(solution: Solution) -> PolicyTree:
        """The best tree at the start; among ties, the one with the lowest action."""
        if not solution.stages:
            raise ModelError(
                f"the plan of {solution.planner} has no policy trees; plan for a horizon"
            )
        model = solution.model
        actions, values = solution.stages[-1].actions, solution.stages[-1].vectors @ model.start
        tied = np.flatnonzero(values == values.max())
        root = int(tied[actions[tied].argmin()])
        layers = tuple((stage.actions, stage.successors) for stage in solution.stages)
        return PolicyTree(model.actions, model.observations, layers, root)

    @property
    def horizon(self) -> int:
        """The number of steps."""
        return len(self.layers)

    def policy(self) -> TreePolicy:
        """The tree as a policy, at its root."""
        return TreePolicy(self)

    def after(self, steps: int, tree: int, observation: int) -> int:
        """The subtree of steps - 1 steps that follows an observation."""
        return max(0, int(self.layers[steps - 1][1][tree, observation]))

    def stages(self, model: POMDP | LinearModel, clock: Clock | None = None) -> tuple[Floats, ...]:
        """The values of the trees of each layer, (K_k, n), by backward induction.

        Past a clock's deadline only those of the layers computed so far, at least the first.
        """
        clock, model = clock or no_limits(), as_linear(model)
        discount = planning_discount(model, self.horizon)
        stages = [model.rewards[:, self.layers[0][0]].T.copy()]
        for actions, successors in self.layers[1:]:
            layer = model.rewards[:, actions].T.copy()
            try:
                for a in np.unique(actions).tolist():
                    trees = np.flatnonzero(actions == a)
                    for o in contributing(model, a):
                        for part in clock.parts(len(trees), 10.0 * model.dimension):
                            some = trees[part]
                            after = stages[-1][np.maximum(successors[some, o], 0)]
                            layer[some] += discount * model.operators.right(after, a, o)
            except LimitReached:
                break
            stages.append(layer)
        return tuple(stages)

    def value(self, model: POMDP | LinearModel) -> float:
        """The value of the tree at a model's start."""
        linear = as_linear(model)
        return float(self.stages(linear)[-1][self.root] @ linear.start)

    def title(self) -> str:
        """A description in one line."""
        return (
            f"policy tree: {counted(self.horizon, 'step')}, "
            f"{counted(len(self.action_names), 'action')}, "
            f"{counted(len(self.observation_names), 'observation')}"
        )

    def facts(self) -> list[tuple[str, str]]:
        """The first action, and the number of trees by steps left."""
        begins = self.action_names[int(self.layers[-1][0][self.root])]
        sizes = [str(len(actions)) for actions, _ in reversed(self.layers)]
        return [
            ("first action", begins),
            ("trees by steps left", some(sizes)),
            ("observations", some(self.observation_names)),
        ]


class TreePolicy(Shown, Policy):
    """A running tree; its memory is the number of steps left and the current subtree."""

    def __init__(self, tree: PolicyTree) -> None:
        self.tree = tree
        self.reset()

    @property
    def memory(self) -> Floats:
        """The number of steps left and the current subtree, (2,)."""
        return np.array([float(self._left), float(self._node)])

    def reset(self) -> None:
        """Return to the root."""
        self._left, self._node = self.tree.horizon, self.tree.root

    def act(self) -> int:
        """The action of the tree."""
        if self._left == 0:
            raise ModelError(
                f"the horizon of {counted(self.tree.horizon, 'step')} is over; call reset()"
            )
        return int(self.tree.layers[self._left - 1][0][self._node])

    def update(self, action: Label, observation: Label) -> None:
        """Move to the subtree for an observation; the action must be the tree's.

        Both are names or indices: a string is a name, an integer an index.
        """
        names = self.tree.action_names
        taken = index_of(names, action, "action")
        if self._left and taken != self.act():
            raise ModelError(
                f"the tree chose action {names[self.act()]!r}, but `update` received action "
                f"{names[taken]!r}; a tree can follow only its own actions"
            )
        seen = observed(self.tree.observation_names, observation)
        if self._left > 1:
            self._node = self.tree.after(self._left, self._node, seen)
        self._left = max(0, self._left - 1)

    def title(self) -> str:
        """A description in one line."""
        return f"policy that follows a tree of {counted(self.tree.horizon, 'step')}"

    def facts(self) -> list[tuple[str, str]]:
        """The next action and the steps left."""
        over = "none: the horizon is over"
        action = self.tree.action_names[self.act()] if self._left else over
        return [("next action", action), ("steps left", str(self._left))]
