"""A small simulator, and plans that hold every word, for tests of learning."""

from itertools import product

import numpy as np

from rpsr import domains, evaluation, load_pomdp
from rpsr.learning import WindowPlan
from rpsr.logs import Trajectories, from_arrays
from rpsr.planning import UniformPolicy

ENDING = {"work": 0.3, "rest": 0.05}
EARNED = {"work": 1.0, "rest": 0.5}


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
    """A plan with every word up to a length."""
    interactions = range(len(model.actions) * len(model.observations))

    def words(longest):
        return tuple(word for k in range(longest + 1) for word in product(interactions, repeat=k))

    largest = float(np.abs(model.rewards).max())
    scale = float(2.0 ** np.ceil(np.log2(largest)))
    names = (model.actions, model.observations)
    return WindowPlan(*names, words(tests), words(tests), words(histories), scale, **options)


def small_log(seed, *, ends=True, gaussian=False):
    """A few short episodes over two actions and two observations, drawn without a model."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 5, size=4)
    steps = int(lengths.sum())
    rewards = rng.normal(size=steps) if gaussian else rng.integers(0, 2, size=steps).astype(float)
    return Trajectories(
        action_names=("left", "right"),
        observation_names=("dark", "light"),
        actions=rng.integers(2, size=steps),
        observations=rng.integers(2, size=steps),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        terminated=rng.random(4) < 0.5 if ends else np.zeros(4, dtype=bool),
        rewards=rewards,
    )


def uniform_log(name, episodes, steps, seed):
    """A domain and a log of it by uniform actions, with rewards and propensities."""
    pomdp = load_pomdp(name)
    policy = UniformPolicy(pomdp.belief_model(), np.random.default_rng(seed))
    return pomdp, evaluation.simulate(
        pomdp, policy, episodes=episodes, steps=steps, seed=seed, rewards=True, propensities=True
    )


def coin_log(episodes, seed, steps=30, constant=0.0):
    """What is seen is a coin, at ends as ever; work earns more and ends sooner."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(episodes):
        ends = rng.random((steps, 2)) < list(ENDING.values())
        actions = rng.integers(2, size=steps)
        over = np.flatnonzero(ends[np.arange(steps), actions])
        length = int(over[0]) + 1 if len(over) else steps
        rows.append((actions[:length], rng.integers(2, size=length), bool(len(over))))
    actions, seen, terminated = zip(*rows, strict=True)
    rewards = [constant + np.array(list(EARNED.values()))[taken] for taken in actions]
    names = {"action_names": list(ENDING), "observation_names": ["head", "tail"]}
    return from_arrays(actions, seen, rewards, terminated=terminated, **names)


def memory_log(lag, episodes, steps, seed, symbols=2, relevant=2):
    """Random symbols; action a pays 1 if the symbol `lag` steps ago was a, of the relevant ones."""
    rng = np.random.default_rng(seed)
    seen = rng.integers(symbols, size=(episodes, lag + steps))
    actions = rng.integers(relevant, size=(episodes, steps))
    rewards = (actions == seen[:, :steps]).astype(float)
    return from_arrays(actions, seen[:, lag:], rewards)
