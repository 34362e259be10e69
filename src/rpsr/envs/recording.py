"""Logs of Gymnasium environments."""

from __future__ import annotations

from typing import Any, Literal

import gymnasium
import numpy as np

from rpsr.arguments import whole
from rpsr.envs.labels import Labels
from rpsr.envs.names import NamedDiscrete
from rpsr.envs.players import Player, player
from rpsr.errors import InputError
from rpsr.io.records import Ints
from rpsr.logs.trajectories import Trajectories

LONGEST = 1_000_000  # steps of an episode without a limit


def record(
    env: gymnasium.Env[Any, Any],
    policy: Any = "uniform",
    episodes: int = 100,
    *,
    steps: int | None = None,
    seed: int = 0,
    initial: Literal["drop", "step"] | None = None,
) -> Trajectories:
    """Episodes of a policy in any Gymnasium environment with discrete actions and observations.

    `MultiDiscrete`, `MultiBinary`, `Tuple`, `Dict` and `Box` spaces of integers are read as tuples,
    named by their integers, such as "14,10,1"; of these, only observed tuples have a name in the
    log. Continuous values are refused: put a discretiser in front.

    policy: "uniform" (its propensities are recorded); a function from an observation to an action;
    or a plan or policy of rpsr whose actions and observations have the environment's names.
    steps: the largest number of steps per episode; the log then ends there, as truncated.
    initial: Gymnasium observes before the first action, rpsr's models do not. If that observation
    is always the same, it is dropped. Otherwise choose: "drop" drops it, "step" makes it the
    observation after an extra first action of the policy, which has no effect and no reward.
    """
    if initial not in (None, "drop", "step"):
        raise InputError(f"initial: read {initial!r}, expected None, 'drop' or 'step'")
    for name, count in (("episodes", episodes), ("steps", steps)):
        if count is not None:
            whole(name, count, 1)
    if not isinstance(env, gymnasium.Env):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(f"env: read {type(env).__name__}, expected a single gymnasium.Env")
    labels = Labels(env.action_space, "action"), Labels(env.observation_space, "observation")
    playing = player(policy, *labels, np.random.default_rng(seed))
    rows = [
        _episode(env, playing, labels, steps, seed if episode == 0 else None, initial == "step")
        for episode in range(episodes)
    ]
    if len({row.first for row in rows}) > 1 and initial is None:
        raise InputError(
            "the observation before the first action differs from episode to episode: use "
            "initial='drop' to drop it or initial='step' to keep it after an extra first action"
        )
    return _log(rows, labels, initial != "step", playing.propensity)


class _Row:
    """One episode: codes and rewards."""

    def __init__(self, first: int) -> None:
        self.first, self.terminated = first, False
        self.actions, self.observations = list[int](), list[int]()
        self.rewards = list[float]()


def _episode(
    env: gymnasium.Env[Any, Any],
    playing: Player,
    labels: tuple[Labels, Labels],
    steps: int | None,
    seed: int | None,
    extra: bool,
) -> _Row:
    observation, _ = env.reset(seed=seed)
    row = _Row(labels[1].code(observation))
    playing.begin(observation, row.first)
    if extra:
        action = playing.act()
        row.actions.append(action)
        row.observations.append(row.first)
        row.rewards.append(0.0)
        playing.update(action, observation, row.first)
        steps = None if steps is None else steps + 1
    over = False
    while not over:
        action = playing.act()
        observation, reward, row.terminated, truncated, _ = env.step(labels[0].value(action))
        row.actions.append(action)
        row.observations.append(labels[1].code(observation))
        row.rewards.append(float(reward))
        over = row.terminated or truncated or len(row.actions) == steps
        if not over:
            playing.update(action, observation, row.observations[-1])
        if steps is None and len(row.actions) == LONGEST:
            raise InputError(
                f"an episode has not ended after {LONGEST:,} steps; "
                "give steps, the largest number per episode"
            )
    return row


def _log(
    rows: list[_Row], labels: tuple[Labels, Labels], dropped: bool, propensity: float | None
) -> Trajectories:
    """dropped: whether the observations before the first action are not in the log."""
    columns: list[Any] = [
        np.concatenate([np.array(getattr(row, name)) for row in rows])
        for name in ("actions", "observations", "rewards")
    ]
    actions, action_names = _names(labels[0], columns[0])
    observations, observation_names = _names(labels[1], columns[1], dropped)
    return Trajectories(
        action_names=action_names,
        observation_names=observation_names,
        actions=actions,
        observations=observations,
        offsets=np.cumsum([0, *(len(row.actions) for row in rows)]),
        terminated=np.array([row.terminated for row in rows], dtype=np.bool_),
        rewards=columns[2],
        propensities=None if propensity is None else np.full(len(actions), propensity),
    )


def _names(labels: Labels, codes: Ints, dropped: bool = False) -> tuple[Ints, tuple[str, ...]]:
    """Indices and names: all names of a single integer, those that occur of tuples."""
    names = labels.names
    if names is None:
        kinds, indices = np.unique(codes, return_inverse=True)
        return indices, tuple(labels.name(code) for code in kinds.tolist())
    space = labels.space
    if dropped and isinstance(space, NamedDiscrete) and space.initial == len(names) - 1:
        names = names[:-1]  # the name of the observation that is never recorded
    return codes, names
