"""A log as a table with one row per step: what Parquet, CSV and data frames hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from rpsr.errors import InputError
from rpsr.logs.trajectories import Trajectories

COLUMNS = {"rewards": "reward", "propensities": "propensity", "states": "state"}  # of a table


def recorded(log: Trajectories) -> tuple[str, ...]:
    """Which of the optional columns a log has."""
    return tuple(name for name in COLUMNS if getattr(log, name) is not None)


def step_columns(log: Trajectories, episodes: int = 0) -> dict[str, np.ndarray[Any, Any]]:
    """The columns of a log, (L,) each; actions and observations are indices.

    `terminated` and `truncated` are true in the last row of an episode that ended so. episodes: the
    number of episodes in the rows above.
    """
    if not log.lengths.all():
        number = episodes + int(log.lengths.argmin())
        raise InputError(f"episode {number} has no step, which a table cannot store")
    columns: dict[str, Any] = {
        "episode": np.repeat(np.arange(log.episodes), log.lengths) + episodes,
        "step": np.arange(log.steps) - np.repeat(log.offsets[:-1], log.lengths),
        "action": log.actions,
        "observation": log.observations,
    }
    columns |= {COLUMNS[name]: getattr(log, name) for name in recorded(log)}
    for name in ("terminated", "truncated"):
        flags = np.zeros(log.steps, dtype=np.bool_)
        flags[log.offsets[1:][getattr(log, name)] - 1] = True
        columns[name] = flags
    return columns
