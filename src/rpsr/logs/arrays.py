"""Logs from numpy arrays: one row or one array per episode."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from rpsr.errors import InputError
from rpsr.logs.episodes import MOST
from rpsr.logs.trajectories import Trajectories
from rpsr.showing import counted


# The arguments are the columns of a log, and the names in two of them.
def from_arrays(
    actions: Any,
    observations: Any,
    rewards: Any = None,
    *,
    propensities: Any = None,
    lengths: Any = None,
    terminated: Any = None,
    truncated: Any = None,
    action_names: Sequence[str] | None = None,
    observation_names: Sequence[str] | None = None,
) -> Trajectories:
    """Episodes from arrays of indices and numbers.

    Each column is a table (N, T) or a sequence of N arrays. lengths (N,): the number of steps to
    use of each row, by default all. terminated (N,): whether the task ended there, by default
    false. truncated (N,): whether the recording ended, by default where the task did not. Without
    names, an index is its own name.
    """
    rows = _rows(actions, lengths, "actions")
    sizes = [len(row) for row in rows]
    columns: dict[str, Any] = {"actions": np.concatenate([*rows, np.zeros(0)])}
    others = {"observations": observations, "rewards": rewards, "propensities": propensities}
    for name, given in others.items():
        if given is None and name != "observations":
            continue
        parts = _rows(given, lengths, name)
        if len(parts) != len(rows):
            read = counted(len(parts), "episode")
            raise InputError(f"{name}: read {read}, expected {len(rows)}, as in actions")
        for episode, (row, size) in enumerate(zip(parts, sizes, strict=True)):
            if len(row) != size:
                raise InputError(
                    f"episode {episode}: {name}: read {len(row)} values, expected {size}, "
                    "one per action"
                )
        columns[name] = np.concatenate([*parts, np.zeros(0)])
    if truncated is not None:
        columns["truncated"] = _flags(truncated, "truncated")
    return Trajectories(
        action_names=_names(action_names, columns["actions"]),
        observation_names=_names(observation_names, columns["observations"]),
        offsets=np.cumsum([0, *sizes]),
        terminated=_flags(np.zeros(len(rows), dtype=bool) if terminated is None else terminated),
        **columns,
    )


def _rows(table: Any, lengths: Any, name: str) -> list[np.ndarray]:
    if not np.iterable(table):
        raise InputError(f"{name}: read {table!r}, {_TABLE}")
    try:
        rows = [np.asarray(row) for row in table]
    except ValueError:  # nested rows
        raise InputError(f"{name}: {_TABLE}") from None
    if any(row.ndim != 1 for row in rows):
        raise InputError(f"{name}: {_TABLE}")
    if lengths is not None:
        sizes = np.asarray(lengths)
        if sizes.shape != (len(rows),) or sizes.dtype.kind not in "iu":
            raise InputError(f"lengths: expected {len(rows)} whole numbers, one per episode")
        for episode, (row, size) in enumerate(zip(rows, sizes.tolist(), strict=True)):
            if not 0 <= size <= len(row):
                expected = f"0 to {len(row)}"
                raise InputError(f"episode {episode}: lengths: read {size}, expected {expected}")
        rows = [row[:size] for row, size in zip(rows, sizes.tolist(), strict=True)]
    return [_numeric(row, name, episode) for episode, row in enumerate(rows)]


_TABLE = "expected a table (episodes, steps) or a list of arrays, one per episode"


def _numeric(row: np.ndarray, name: str, episode: int) -> np.ndarray:
    """A row as numbers; actions and observations must be indices."""
    index = name in ("actions", "observations")
    if row.dtype.kind == "O":  # numpy's type for mixed values
        good = np.array([isinstance(value, _NUMBER) and abs(value) <= _LARGEST for value in row])
    else:
        good = np.full(row.shape, row.dtype.kind in "biuf" or len(row) == 0)
    if good.all():
        numbers = row.astype(np.float64)
        if index:
            good = (numbers >= 0) & (numbers < MOST) & (numbers == np.floor(numbers))
        if good.all():
            return numbers.astype(np.int64) if index else numbers
    step = int(np.argmin(good))
    expected = f"an index from 0 to {MOST - 1}" if index else "a finite number"
    read = row.tolist()[step]
    raise InputError(f"episode {episode}, step {step}: {name}: read {read!r}, expected {expected}")


_NUMBER = (int, float, np.integer, np.floating)
_LARGEST = sys.float_info.max


def _flags(given: Any, name: str = "terminated") -> np.ndarray:
    flags = np.asarray(given)
    numeric = flags.dtype.kind in "biu" or not flags.size
    if not numeric or not np.isin(flags, (0, 1)).all():
        raise InputError(f"{name}: expected true or false, one per episode")
    return flags.astype(np.bool_)


def _names(given: Sequence[str] | None, column: np.ndarray) -> tuple[str, ...]:
    if given is not None:
        return tuple(given)
    return tuple(str(i) for i in range(int(column.max(initial=-1)) + 1))
