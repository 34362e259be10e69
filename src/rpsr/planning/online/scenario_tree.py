"""A determinised sparse tree of scenarios (DESPOT): the search of `ParticlePolicy`.

K scenarios are sampled from the particles. A node of the tree is a sequence of actions and
observations with the scenarios that agree with it. Each action of a node is simulated once, for all
its scenarios together, so a node has at most K children per action however many observations
there are. With the weight w = discount^depth / K, sums over the scenarios of a node bound its part
of the value at the root:

    at a leaf   U = w sum upper(state)      L = w max_p sum lower_p(state)
    else        U = max_a (w sum reward - regularization + sum over children of U), and the same for
                L, which is at least that of the leaf

A trial goes down from the root by the action with the largest U and the child with the largest
excess gap, U - L - SHARE * (share of the scenarios) * (gap at the root). It ends where no child has
an excess gap above 0, and updates the bounds on its way back. The action is the one with the
largest L at the root.

U and L are bounds for the sampled scenarios; as bounds on the optimal value they have the errors of
a sample. The regularization penalises large policy trees, which fit a sample too well.

When the time of a step is over, roll-outs are cut, and the rest counts as the least possible sum of
rewards; a node that is not yet simulated with all actions remains a leaf. Only a simulation of one
action for all scenarios of a node is never cut.

Reference: N. Ye, A. Somani, D. Hsu and W. S. Lee, DESPOT: online POMDP planning with
regularization, JAIR 58 (2017).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rpsr.io.records import Bools, Floats
from rpsr.planning.limits import Clock
from rpsr.planning.online.effort import Effort
from rpsr.planning.online.simulator import Batches, Rng, States, grouped

SHARE = 0.95  # of the gap at the root: how far a trial should narrow it
NEGLIGIBLE = 0.01  # of a return: trials and roll-outs end where the discount is below this
LONGEST = 1000  # steps of a roll-out
CHOOSING = 0.5  # of the time of a step, for choosing the action that is rolled out


class Node:
    """Scenarios after one history: their states, and bounds on their part of the root's value.

    actions: the children of every action, once the node is expanded; rewards, lowers and uppers
    (A,): the bounds of the actions.
    """

    __slots__ = (
        "actions", "depth", "floor", "lower", "lowers", "rewards", "states", "upper", "uppers"
    )  # fmt: skip

    def __init__(self, states: States, depth: int, lower: float, upper: float) -> None:
        self.states, self.depth = states, depth
        self.floor = self.lower = lower
        self.upper = max(lower, upper)
        self.actions: list[list[Node]] = []
        self.rewards = self.lowers = self.uppers = np.empty(0)

    @property
    def gap(self) -> float:
        """Upper minus lower."""
        return self.upper - self.lower

    def update(self, action: int) -> None:
        """New bounds of an action, from its children, and of the node."""
        self.refresh(action)
        self.lower = max(self.floor, float(self.lowers.max()))
        self.upper = max(self.lower, min(self.upper, float(self.uppers.max())))

    def refresh(self, action: int) -> None:
        """New bounds of an action, from its children."""
        children, paid = self.actions[action], self.rewards[action]
        self.lowers[action] = paid + sum(child.lower for child in children)
        self.uppers[action] = paid + sum(child.upper for child in children)


class ScenarioTree:
    """The tree of K scenarios that begin in given states; clock: of the step it is made for."""

    def __init__(
        self, batches: Batches, states: States, rng: Rng, regularization: float, clock: Clock
    ) -> None:
        self.batches, self.rng, self.regularization = batches, rng, regularization
        self.clock, self._worst_reward = clock, 0.0
        self.count, self.trials, self.nodes = len(states), 0, 1
        self._deepest = int(np.log(NEGLIGIBLE) / np.log(batches.discount)) + 1
        self._blind = None if batches.has_lower else self._best_blind(states)
        above = float(batches.upper(states).mean())
        self.root = Node(states, 0, self._lower(states, above), above)
        self._expand(self.root)

    def search(self, effort: Effort) -> None:
        """Run trials until the effort of a step is spent, or more cannot change the action."""
        while not (effort.spent(self.trials) or self.clock.over or self._decided()):
            if not self._trial():
                break
            self.trials += 1

    def best(self) -> int:
        """The action with the largest lower bound; of equal ones, that with the largest upper."""
        root = self.root
        return int(np.lexsort((root.uppers, root.lowers))[-1])

    def _decided(self) -> bool:
        best, others = self.best(), self.root.uppers.copy()
        others[best] = -np.inf
        return bool(others.max() <= self.root.lowers[best])

    def _trial(self) -> bool:
        """One trial; whether it expanded a node or changed the bounds at the root."""
        before = self.root.lower, self.root.upper
        node, wanted, grown = self.root, SHARE * self.root.gap, False
        path: list[tuple[Node, int]] = []
        while node.depth < self._deepest and not self.clock.over:
            if not node.actions:
                if not self._expand(node):
                    break
                grown = True
            action = int(node.uppers.argmax())
            path.append((node, action))
            children = node.actions[action]
            excess = [child.gap - wanted * len(child.states) / self.count for child in children]
            if not excess or max(excess) <= 0:
                break
            node = children[excess.index(max(excess))]
        for node, action in reversed(path):
            node.update(action)
        return grown or (self.root.lower, self.root.upper) != before

    def _expand(self, node: Node) -> bool:
        """Simulate every action of a node once, for all its scenarios; whether time allowed it.

        Else the node remains a leaf, except for the root: there, actions that were not simulated
        have the bounds of no knowledge.
        """
        weight, actions = self.batches.discount**node.depth / self.count, len(self.batches.actions)
        node.rewards, node.lowers, node.uppers = np.empty((3, actions))
        for action in range(actions):
            if self.clock.over and (node is not self.root or action > 0):
                if node is not self.root:
                    node.actions = []
                    return False
                node.lowers[action:], node.uppers[action:] = self._least(), node.upper
                break
            after, seen, paid, done = self._step(node.states, action)
            if done.any():
                after, seen = after[~done], seen[~done]
            children = self._children(after, seen, node.depth + 1) if len(seen) else []
            node.actions.append(children)
            node.rewards[action] = weight * paid.sum() - self.regularization
            self.nodes += len(children)
            node.refresh(action)
        node.update(0)
        return True

    def _step(self, states: States, action: int) -> tuple[States, Any, Floats, Bools]:
        """A step of the simulator; the worst reward of all is kept."""
        outcome = self.batches.step(states, action, self.rng)
        self._worst_reward = min(self._worst_reward, float(outcome[2].min(initial=0.0)))
        return outcome

    def _least(self) -> float:
        """The least possible sum of rewards; without `reward_range`, that of the worst so far."""
        least = self.batches.least
        return self._worst_reward / (1 - self.batches.discount) if least is None else least

    def _children(self, states: States, seen: Any, depth: int) -> list[Node]:
        """The children of an action, one per observation of its scenarios."""
        above, (different, which) = self.batches.upper(states), grouped(seen)
        parts, uppers = [states], [float(above.sum())]
        if len(different) > 1:
            order = np.argsort(which, kind="stable")
            begins = np.searchsorted(which[order], np.arange(len(different)))
            uppers = np.add.reduceat(above[order], begins).tolist()
            parts = np.split(states[order], begins[1:])
        pairs = zip(parts, uppers, strict=True)
        return [self._node(part, depth, upper) for part, upper in pairs]

    def _node(self, states: States, depth: int, upper: float) -> Node:
        """A leaf; upper: the sum of the upper bounds of its states."""
        weight = self.batches.discount**depth / self.count
        lower = self._lower(states, upper / len(states))
        return Node(states, depth, weight * len(states) * lower, weight * upper)

    def _lower(self, states: States, above: float) -> float:
        """A lower bound on the mean value: the simulator's own, or roll-outs of one action.

        above: an upper bound on it; the returns of a sample may exceed it.
        """
        if self._blind is None:
            return self.batches.lower(states, above)
        return float(self._rolled_out(states, self._blind, self.clock).mean())

    def _best_blind(self, states: States) -> int:
        """The action that pays most in the scenarios if it is taken at every step."""
        clock, actions = self.clock.share(CHOOSING), len(self.batches.actions)
        returns = [
            self._rolled_out(states, a, clock.share(1 / (actions - a))).mean()
            for a in range(actions)
        ]
        return int(np.argmax(returns))

    def _rolled_out(self, states: States, action: int, clock: Clock) -> Floats:
        """Discounted sums of rewards, (B,), of one action at every step."""
        total, live, factor = np.zeros(len(states)), np.arange(len(states)), 1.0
        for _ in range(LONGEST):
            if not len(live) or factor < NEGLIGIBLE or clock.over:
                break
            states, _, paid, done = self._step(states, action)
            total[live] += factor * paid
            if done.any():
                states, live = states[~done], live[~done]
            factor *= self.batches.discount
        if factor >= NEGLIGIBLE:  # cut
            total[live] += factor * self._least()
        return total
