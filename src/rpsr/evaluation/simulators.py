"""Episodes of a policy on a generative simulator (see `rpsr.planning.online.simulator`).

Each episode has its own spawned seed, so equal seeds give equal episodes. The policy is an object
with `reset`, `act` and `update`, as planning online gives. It receives observations as the
simulator has them: indices of names, or other values. Observations without names are called after
their text in the log, in the order in which they first occur.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rpsr.errors import InputError
from rpsr.evaluation.running import Asked
from rpsr.io.records import Floats, Ints
from rpsr.logs.trajectories import Trajectories
from rpsr.models.as_model import wrong_type
from rpsr.models.labels import Index
from rpsr.planning.as_policy import UNIFORM, VERBS
from rpsr.planning.online.simulator import Batches


def run_episodes(simulator: Any, policy: Any, episodes: int, steps: int, seed: int) -> Trajectories:
    """Episodes with rewards and propensities, which end where `step` says so or after all steps."""
    batches = Batches(simulator)
    asked = Asked(_follower(policy, batches.actions, batches.observations), len(batches.actions))
    log = _Log(batches)
    for own in np.random.SeedSequence(seed).spawn(episodes):
        rng = np.random.default_rng(own)
        asked.begin(1)
        states = batches.start(rng, 1)
        for step in range(steps):
            actions, chance = asked.act(rng, step)
            action = int(actions[0])
            states, seen, rewards, done = batches.step(states, action, rng)
            observation = seen[0] if batches.observations is None else Index(seen[0])
            log.add(action, observation, float(rewards[0]), float(chance[0]))
            if done[0] or step + 1 == steps:
                log.end(bool(done[0]))
                break
            asked.policy.update(action, observation)
    return log.trajectories()


class _Log:
    """Steps as they are taken."""

    def __init__(self, batches: Batches) -> None:
        self._batches = batches
        self._codes: dict[Any, int] = {}
        self._rows = list[tuple[int, int, float, float]]()
        self._offsets, self._terminated = [0], list[bool]()

    def add(self, action: int, observation: Any, reward: float, chance: float) -> None:
        named = self._batches.observations is not None
        code = observation if named else self._codes.setdefault(observation, len(self._codes))
        self._rows.append((action, int(code), reward, chance))

    def end(self, terminated: bool) -> None:
        self._offsets.append(len(self._rows))
        self._terminated.append(terminated)

    def trajectories(self) -> Trajectories:
        names = self._batches.observations
        actions, observations, rewards, chances = zip(*self._rows, strict=True)
        return Trajectories(
            action_names=self._batches.actions,
            observation_names=tuple(map(str, self._codes)) if names is None else names,
            actions=np.array(actions),
            observations=np.array(observations),
            offsets=np.array(self._offsets),
            terminated=np.array(self._terminated),
            rewards=np.array(rewards),
            propensities=np.array(chances),
        )


def _follower(policy: Any, actions: tuple[str, ...], observations: tuple[Any, ...] | None) -> Any:
    """An object with the methods of a policy for these actions."""
    if isinstance(policy, str) and policy == UNIFORM:
        return _Uniform(len(actions))
    verbs = (getattr(policy, verb, None) for verb in VERBS)
    if isinstance(policy, type) or not all(map(callable, verbs)):
        expected = (
            f"a policy (an object with the methods {', '.join(VERBS)}) or {UNIFORM!r}, because the "
            "system is a simulator"
        )
        raise wrong_type(policy, "policy", expected)
    # A policy on a model or on a simulator has its actions by number.
    owner = getattr(policy, "simulator", getattr(policy, "model", None))
    names = tuple(getattr(owner, "actions", actions))
    if names != actions:
        raise InputError(
            f"policy: read a policy for the actions {', '.join(names)}, expected one for the "
            f"actions {', '.join(actions)}"
        )
    seen: Any = getattr(owner, "observations", None)
    if seen is not None and observations is not None and tuple(seen) != observations:
        raise InputError(
            f"policy: read a policy for the observations {', '.join(map(str, seen))}, expected one "
            f"for {', '.join(map(str, observations))}, in this order"
        )
    return policy


class _Uniform:
    """Uniformly random actions, drawn by whoever asks for probabilities."""

    def __init__(self, n_actions: int) -> None:
        self._row: Floats = np.full(n_actions, 1 / n_actions)

    def reset(self) -> None:
        """Nothing to forget."""

    def probabilities(self) -> Floats:
        return self._row

    def update(self, action: Ints, observation: Any) -> None:
        """Nothing to remember."""
