"""A small simulator, and plans that hold every word, for tests of learning."""

from itertools import product

import numpy as np

from rpsr import domains
from rpsr.learning import WindowPlan
from rpsr.logs import Trajectories


def simulate(name, episodes, steps, seed, chances=None, ago=1):
    """Episodes of a domain, uniform or by chances(observation or None) -> (A,).

    ago: how many steps back that observation was made; 1 is the last one.
    """
    model = domains.build(name).belief_model()
    n_actions, n_observations, n = model.operators.shape
    joint = np.array(
        [
            np.stack([model.operators.matrix(a, o) for o in range(n_observations)], axis=-1)
            for a in range(n_actions)
        ]
    ).reshape(n_actions, n, n * n_observations)
    joint = np.cumsum(joint, axis=2)
    rng = np.random.default_rng(seed)
    size = episodes * steps
    actions, seen, propensities = np.zeros(size, int), np.zeros(size, int), np.zeros(size)
    rewards = np.zeros(size)
    states = rng.choice(n, episodes, p=model.start)
    recent = np.full((ago, episodes), -1)  # observations, the one to look at first
    at = np.arange(episodes) * steps
    for t in range(steps):
        if chances is None:
            p = np.full((episodes, n_actions), 1 / n_actions)
        else:
            p = np.array([chances(None if o < 0 else o) for o in recent[0]])
        a = (p.cumsum(axis=1) < rng.random(episodes)[:, None]).sum(axis=1).clip(max=n_actions - 1)
        rows = joint[a, states]
        both = (rows < rng.random(episodes)[:, None] * rows[:, -1:]).sum(axis=1)
        actions[at + t], propensities[at + t] = a, p[np.arange(episodes), a]
        rewards[at + t] = model.rewards[states, a]
        states, last = np.divmod(both, n_observations)
        recent = np.concatenate([recent[1:], last[None]])
        seen[at + t] = last
    return Trajectories(
        model.actions,
        model.observations,
        actions,
        seen,
        np.arange(episodes + 1) * steps,
        np.zeros(episodes, dtype=bool),
        rewards,
        propensities,
    )


def whole_plan(model, tests, histories, **options):
    """A plan with every word of up to so many pairs."""
    pairs = range(len(model.actions) * len(model.observations))

    def words(longest):
        return tuple(word for k in range(longest + 1) for word in product(pairs, repeat=k))

    largest = float(np.abs(model.rewards).max())
    scale = float(2.0 ** np.ceil(np.log2(largest)))
    names = (model.actions, model.observations)
    return WindowPlan(*names, words(tests), words(tests), words(histories), scale, **options)
