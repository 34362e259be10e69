"""The conformance check of environments (public in `rpsr.testing`)."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env as gymnasium_check
from gymnasium.vector import AutoresetMode, VectorEnv

from rpsr.envs.labels import Labels
from rpsr.envs.predictive_state import Reader
from rpsr.envs.system import Source, opened
from rpsr.errors import RpsrError
from rpsr.evaluation.systems import ending_observations
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.models.renaming import END


def check_env(env: Any, model: Source | None = None, *, seed: int = 0, steps: int = 200) -> None:
    """See `rpsr.testing.check_env`."""
    if isinstance(env, VectorEnv):
        mode = env.metadata.get("autoreset_mode")
        _require(isinstance(mode, AutoresetMode), "env.metadata has no autoreset_mode")
        spaces = env.single_action_space, env.single_observation_space
    else:
        spaces = env.action_space, env.observation_space
    try:
        labels = Labels(spaces[0], "action"), Labels(spaces[1], "observation")
    except RpsrError as error:
        raise AssertionError(str(error)) from None
    if not isinstance(env, VectorEnv):
        _check_by_gymnasium(env)
    first, again = (_played(env, seed, steps) for _ in range(2))
    for t, (one, other) in enumerate(zip(first, again, strict=True)):
        _require(
            _equal(one, other), f"step {t}: two runs with the same seed gave {one} and {other}"
        )
    if model is not None:
        _check_model(env, labels, opened(model), seed, steps)


def _require(holds: bool, otherwise: str) -> None:
    """Not an `assert`, which `python -O` would skip."""
    if not holds:
        raise AssertionError(otherwise)


def _check_by_gymnasium(env: gymnasium.Env[Any, Any]) -> None:
    try:
        gymnasium_check(env.unwrapped, skip_render_check=env.spec is None)
    except Exception as error:
        raise AssertionError(f"Gymnasium's check fails: {error}") from error


def _played(env: Any, seed: int, steps: int) -> list[Any]:
    """The results of one run with random actions, all checked to lie in the spaces."""
    env.action_space.seed(seed)
    observation, _ = env.reset(seed=seed)
    events: list[Any] = [observation]
    for t in range(steps):
        space = env.observation_space
        outside = f"step {t}: observation {observation} is not in the observation space {space}"
        _require(space.contains(observation), outside)
        action = env.action_space.sample()
        observation, reward, terminated, truncated, _ = env.step(action)
        events.append((action, observation, reward, terminated, truncated))
        over = np.asarray(terminated) | np.asarray(truncated)
        if isinstance(env, VectorEnv):
            for name, column in (("reward", reward), ("terminated", terminated)):
                shape = np.shape(column)
                expected = (env.num_envs,)
                problem = f"step {t}: {name} has shape {shape}, expected {expected}"
                _require(shape == expected, problem)
            if env.metadata["autoreset_mode"] is AutoresetMode.DISABLED and over.any():
                observation, _ = env.reset(options={"reset_mask": over})
                events.append(observation)
        elif over:
            observation, _ = env.reset()
            events.append(observation)
    return events


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(_equal, one, other))
    return bool(np.array_equal(one, other))


def _check_model(
    env: Any, labels: tuple[Labels, Labels], model: POMDP | LinearModel, seed: int, steps: int
) -> None:
    """Filter the model along episodes of the environment."""
    mode = env.metadata["autoreset_mode"] if isinstance(env, VectorEnv) else None
    batch = env.num_envs if mode is not None else 1
    reader = Reader(env, model, batch)
    ends, rewards = ending_observations(model), _rewards(model)
    final = {name for name, end in zip(model.observations, ends.tolist(), strict=True) if end}
    # A model of a log whose tasks ended at any observation shows the end as one of its own.
    anywhere = END in final and END not in (labels[1].names or ())
    env.action_space.seed(seed)
    reader.begin(reader.codes(env.reset(seed=seed)[0]))
    begun = np.zeros(batch, dtype=np.bool_)  # begins in this step
    for t in range(steps):
        actions = env.action_space.sample()
        observations, *columns, info = env.step(actions)
        reward, terminated, truncated = (np.reshape(column, batch) for column in columns)
        over, codes = terminated | truncated, reader.codes(observations)
        seen = codes
        if mode is AutoresetMode.SAME_STEP and over.any():
            seen = np.where(over, reader.final_codes(info["final_obs"], over), codes)
        try:
            reader.step(actions, seen, ~begun)
        except RpsrError as error:
            raise AssertionError(f"step {t}: {error}") from None
        taken = labels[0].codes(actions, batch)
        for i in np.flatnonzero(~begun).tolist():
            name, action = labels[1].name(int(seen[i])), labels[0].name(int(taken[i]))
            read, expected = bool(terminated[i]), name in final
            fine = read == expected or (read and anywhere)
            problem = f"step {t}: terminated is {read} at observation {name!r}"
            _require(fine, f"{problem}, but {expected} in the model")
            paid = float(reward[i])
            fine = rewards is None or paid in rewards.get((action, name), ())
            cause = f"after action {action!r} and observation {name!r}"
            _require(fine, f"step {t}: the model has no reward {paid:g} {cause}")
        if mode is AutoresetMode.NEXT_STEP:
            begins, begun = begun, over
        else:
            begins = over
            if mode is None and over.any():
                codes = reader.codes(env.reset()[0])
            elif mode is AutoresetMode.DISABLED and over.any():
                codes = reader.codes(env.reset(options={"reset_mask": over})[0])
        if begins.any():
            reader.begin(codes, begins)


def _rewards(model: POMDP | LinearModel) -> dict[tuple[str, str], set[float]] | None:
    """The rewards of a POMDP by the names of action and observation; None for a linear model."""
    if not isinstance(model, POMDP):
        return None
    rewards: dict[tuple[str, str], set[float]] = {}
    o = model.outcomes
    cases = zip(o.action.tolist(), o.observation.tolist(), o.reward.tolist(), strict=True)
    for a, seen, paid in set(cases):
        rewards.setdefault((model.actions[a], model.observations[seen]), set()).add(paid)
    return rewards
