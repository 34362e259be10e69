"""The environment's id in Gymnasium's registry, and `make`."""

from __future__ import annotations

import os
from typing import Any

import gymnasium

from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP

ID = "rpsr/POMDP-v0"


def register() -> None:
    """Enter the environment into Gymnasium's registry, once."""
    if ID not in gymnasium.registry:
        gymnasium.register(
            ID,
            entry_point="rpsr.envs.single:POMDPEnv",
            vector_entry_point="rpsr.envs.vector:POMDPVectorEnv",
        )


def make(
    source: str | os.PathLike[str] | POMDP | LinearModel,
    *,
    num_envs: int | None = None,
    max_episode_steps: int | None = None,
    **options: Any,
) -> Any:
    """An environment of a file, a domain's name or a model; a vector environment with `num_envs`.

    Episodes are truncated after `max_episode_steps`; without it, only an end of the task ends them.
    options: those of `POMDPEnv` or `POMDPVectorEnv`. Equal to `gymnasium.make` and
    `gymnasium.make_vec` with the id "rpsr/POMDP-v0", without Gymnasium's checks at run time.
    """
    register()
    if num_envs is not None:
        limit = max_episode_steps
        return gymnasium.make_vec(
            ID, num_envs=num_envs, source=source, max_episode_steps=limit, **options
        )
    return gymnasium.make(ID, max_episode_steps, disable_env_checker=True, source=source, **options)
