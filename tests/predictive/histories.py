"""Random histories, futures and policy trees, and what the definition says about them.

Everything here goes through beliefs and sums over states, never through a predictive model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.predictive.futures import ZETA, Intent, Interaction, Test

Array = NDArray[np.float64]
History = list[tuple[int, int]]


def random_history(pomdp: POMDP, seed: int, steps: int) -> History:
    """A possible history of uniformly random actions."""
    rng, belief = np.random.default_rng(seed), pomdp.belief_model()
    b, history = belief.start, []
    for _ in range(steps):
        action = int(rng.integers(len(pomdp.actions)))
        chances = belief.predict(b, action)
        observation = int(rng.choice(len(chances), p=chances / chances.sum()))
        history.append((action, observation))
        b = belief.update(b, action, observation)
    return history


def random_test(pomdp: POMDP, seed: int, steps: int) -> Test:
    """Any sequence of interactions, possible or not."""
    rng = np.random.default_rng(seed)
    actions = rng.choice(np.array(pomdp.actions, dtype=object), steps)
    observations = rng.choice(np.array(pomdp.observations, dtype=object), steps)
    return Test(tuple(map(Interaction, actions, observations)))


def random_intent(pomdp: POMDP, seed: int, steps: int) -> Intent:
    """A test, and an action or the token after it."""
    last = (ZETA, *pomdp.actions)[seed % (len(pomdp.actions) + 1)]
    return Intent(random_test(pomdp, seed, steps), last)


def belief_after(pomdp: POMDP, history: History) -> Array:
    """b(h), by Bayes' rule."""
    b = np.array(pomdp.start)
    for action, observation in history:
        b = b @ pomdp.D[action][observation].toarray()
        b = b / b.sum()
    return b


def generative(pomdp: POMDP, test: Test) -> Array:
    """The transpose of the paper's G_q: Pr(s', o_q | s, a_q), rows s."""
    product = np.eye(len(pomdp.states))
    for step in test.interactions:
        a, o = pomdp.actions.index(step.action), pomdp.observations.index(step.observation)
        product = product @ pomdp.D[a][o].toarray()
    return product


def possible(pomdp: POMDP, belief: Array, test: Test) -> tuple[float, Array | None]:
    """Pr(q | h), and b(hq) if that is possible."""
    joint = belief @ generative(pomdp, test)
    chance = float(joint.sum())
    return chance, joint / chance if chance > 0 else None


@dataclass(frozen=True)
class Tree:
    """A policy tree: an action, and what to do after each observation."""

    action: int
    after: tuple[Tree, ...]


def random_tree(pomdp: POMDP, rng: np.random.Generator, horizon: int) -> Tree:
    """A policy tree of a depth."""
    action = int(rng.integers(len(pomdp.actions)))
    branches = len(pomdp.observations) if horizon > 1 else 0
    return Tree(action, tuple(random_tree(pomdp, rng, horizon - 1) for _ in range(branches)))


def value_of(pomdp: POMDP, belief: Array, tree: Tree, discount: float) -> float:
    """The expected discounted reward of following a tree, history by history."""
    value = float(belief @ pomdp.R[:, tree.action])
    for observation, branch in enumerate(tree.after):
        joint = belief @ pomdp.D[tree.action][observation].toarray()
        if joint.sum() > 0:
            following = value_of(pomdp, joint / joint.sum(), branch, discount)
            value += discount * float(joint.sum()) * following
    return value


def best_value(pomdp: POMDP, belief: Array, horizon: int, discount: float) -> float:
    """The value of the best policy, by trying everything."""
    if horizon == 0:
        return 0.0
    values: list[float] = []
    for a in range(len(pomdp.actions)):
        value = float(belief @ pomdp.R[:, a])
        for process in pomdp.D[a]:
            joint = belief @ process.toarray()
            if joint.sum() > 0:
                following = best_value(pomdp, joint / joint.sum(), horizon - 1, discount)
                value += discount * float(joint.sum()) * following
        values.append(value)
    return max(values)


def alpha_of(model: LinearModel, tree: Tree, discount: float) -> Array:
    """The alpha vector of a tree, by the recursion of value iteration."""
    alpha = np.array(model.rewards[:, tree.action])
    for observation, branch in enumerate(tree.after):
        following = alpha_of(model, branch, discount)
        alpha += discount * model.operators.right(following[None], tree.action, observation)[0]
    return alpha
