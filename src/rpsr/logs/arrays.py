"""Logs from numpy arrays: one row an episode, or one array an episode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rpsr.errors import InputError
from rpsr.logs.trajectories import Trajectories


def from_arrays(
    actions: Any,
    observations: Any,
    rewards: Any = None,
    *,
    propensities: Any = None,
    lengths: Any = None,
    terminated: Any = None,
    action_names: Sequence[str] | None = None,
    observation_names: Sequence[str] | None = None,
) -> Trajectories:
    """Episodes from arrays of indices and numbers.

    Each column is a table (N, T), whose rows count up to `lengths` (N,) where that is given, or a
    sequence of N arrays. terminated (N,): whether the task ended there; false where missing.
    Without names, indices name themselves.
    """
    rows = _rows(actions, lengths, "actions")
    sizes = [len(row) for row in rows]
    columns: dict[str, Any] = {"actions": np.concatenate([*rows, np.zeros(0)])}
    others = {"observations": observations, "rewards": rewards, "propensities": propensities}
    for name, given in others.items():
        if given is None and name != "observations":
            continue
        found = _rows(given, lengths, name)
        if len(found) != len(rows):
            raise InputError(f"{name}: read {len(found)} episodes, expected {len(rows)}")
        for episode, (row, size) in enumerate(zip(found, sizes, strict=True)):
            if len(row) != size:
                raise InputError(
                    f"episode {episode}: {name}: read {len(row)} of them, expected {size}"
                )
        columns[name] = np.concatenate([*found, np.zeros(0)])
    for name in ("actions", "observations"):
        whole = columns[name].astype(np.int64)
        if not np.array_equal(whole, columns[name]):
            raise InputError(f"{name}: expected indices, whole numbers from 0")
        columns[name] = whole
    return Trajectories(
        action_names=_names(action_names, columns["actions"]),
        observation_names=_names(observation_names, columns["observations"]),
        offsets=np.cumsum([0, *sizes]),
        terminated=np.zeros(len(rows), dtype=bool) if terminated is None else terminated,
        **columns,
    )


def _rows(table: Any, lengths: Any, name: str) -> list[np.ndarray]:
    rows = [np.asarray(row) for row in table]
    if any(row.ndim != 1 for row in rows):
        raise InputError(f"{name}: expected a table (N, T) or N arrays, one an episode")
    if lengths is None:
        return rows
    sizes = [int(size) for size in lengths]
    if len(sizes) != len(rows):
        raise InputError(f"lengths: read {len(sizes)} of them, expected {len(rows)}")
    for episode, (row, size) in enumerate(zip(rows, sizes, strict=True)):
        if not 0 <= size <= len(row):
            raise InputError(f"episode {episode}: lengths: read {size}, expected 0 to {len(row)}")
    return [row[:size] for row, size in zip(rows, sizes, strict=True)]


def _names(given: Sequence[str] | None, column: np.ndarray) -> tuple[str, ...]:
    if given is not None:
        return tuple(given)
    return tuple(str(i) for i in range(int(column.max(initial=-1)) + 1))
