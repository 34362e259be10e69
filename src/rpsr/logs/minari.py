"""Logs from Minari datasets with discrete spaces; needs minari (the extra `data`).

Minari has an observation before the first action; rpsr's models observe after each action. If that
first observation is always the same, it is dropped. Otherwise, choose: `initial="drop"` drops it,
`initial="step"` makes it the observation after an extra first action.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Literal

import numpy as np

from rpsr.errors import InputError
from rpsr.logs.arrays import from_arrays
from rpsr.logs.trajectories import Trajectories

BEGIN = "begin"  # the name of the extra action


def read_minari(
    dataset: Any,
    *,
    action_names: Sequence[str] | None = None,
    observation_names: Sequence[str] | None = None,
    initial: Literal["drop", "step"] | None = None,
) -> Trajectories:
    """The episodes of a Minari dataset, given as an object or by its local name."""
    if initial not in (None, "drop", "step"):
        raise InputError(f"initial: read {initial!r}, expected None, 'drop' or 'step'")
    if isinstance(dataset, str):
        dataset = _load(dataset)
    possible_actions = _labels(dataset, "action_space")
    possible_observations = _labels(dataset, "observation_space")
    episodes = list(dataset.iterate_episodes())
    seen = [_indices(e.observations, possible_observations) for e in episodes]
    actions = [_indices(e.actions, possible_actions) for e in episodes]
    rewards = [np.asarray(episode.rewards, dtype=np.float64) for episode in episodes]
    names = list(action_names or map(str, possible_actions))
    if len({int(row[0]) for row in seen if len(row)}) > 1 and initial is None:
        raise InputError(
            "the observations before the first action differ: use initial='drop' to drop them "
            "or initial='step' to keep them after an extra first action"
        )
    if initial == "step":
        actions = [np.append(len(names), row) for row in actions]
        rewards = [np.append(0.0, row) for row in rewards]
        names.append(BEGIN)
    else:
        seen = [row[1:] for row in seen]
    return from_arrays(
        actions,
        seen,
        rewards,
        terminated=np.array(
            [bool(len(e.terminations) and e.terminations[-1]) for e in episodes], dtype=bool
        ),
        action_names=names,
        observation_names=observation_names or tuple(map(str, possible_observations)),
    )


def _load(name: str) -> Any:
    try:
        minari: Any = import_module("minari")
    except ImportError:
        raise InputError(
            "reading Minari datasets needs minari: pip install 'rpsr[data]'", place=name
        ) from None
    try:
        return minari.load_dataset(name)
    except FileNotFoundError:
        known = ", ".join(sorted(minari.list_local_datasets())) or "none"
        raise InputError(
            f"no such local Minari dataset (existing: {known}); `minari download` fetches one",
            place=name,
        ) from None
    except (ImportError, ValueError) as error:  # ImportError if a reader of the format is missing
        raise InputError(f"Minari cannot load it: {error}", place=name) from None


def _labels(dataset: Any, which: str) -> range:
    """The numbers of a discrete space."""
    space = getattr(dataset, which)
    size, start = getattr(space, "n", None), getattr(space, "start", None)
    if size is None or start is None:
        raise InputError(f"{which}: read {space}, expected a discrete space")
    return range(int(start), int(start) + int(size))


def _indices(column: Any, labels: range) -> np.ndarray:
    return np.asarray(column).reshape(len(column)).astype(np.int64) - labels.start
