"""Logs from and to Minari datasets with discrete spaces; needs minari (the extra `data`).

Minari has an observation before the first action (see `rollouts`). A log has none, so writing adds
one observation, `(start)`, before every first action; reading drops it. Names, propensities and
states are kept beside Minari's own data: names in the metadata, the others in `infos`.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from rpsr.errors import InputError
from rpsr.logs.arrays import from_arrays
from rpsr.logs.columns import ignored_note
from rpsr.logs.rollouts import Initial, check_initial, extra_step, keeps_first
from rpsr.logs.trajectories import Trajectories

START = "(start)"  # the name of the observation before the first action
_INFOS = {"propensities": "propensity", "states": "state"}
_NAMES = {"action_space": "rpsr_action_names", "observation_space": "rpsr_observation_names"}


def read_minari(
    dataset: Any,
    *,
    action_names: Sequence[str] | None = None,
    observation_names: Sequence[str] | None = None,
    initial: Initial = None,
) -> Trajectories:
    """The episodes of a Minari dataset, given as an object or by its local name."""
    check_initial(initial)
    if isinstance(dataset, str):
        dataset = _load(dataset)
    possible_actions = _labels(dataset, "action_space")
    possible_observations = _labels(dataset, "observation_space")
    episodes = list(dataset.iterate_episodes())
    seen = [_indices(e.observations, possible_observations) for e in episodes]
    columns: dict[str, list[np.ndarray[Any, Any]]] = {
        "actions": [_indices(e.actions, possible_actions) for e in episodes],
        "rewards": [np.asarray(episode.rewards, dtype=np.float64) for episode in episodes],
    }
    infos = [getattr(episode, "infos", None) or {} for episode in episodes]
    for name, key in _INFOS.items():
        if infos and all(key in info for info in infos):
            columns[name] = [np.asarray(info[key])[1:] for info in infos]
    _note_ignored(infos, dataset)
    actions = list(action_names or _names(dataset, "action_space", possible_actions))
    observations = list(
        observation_names or _names(dataset, "observation_space", possible_observations)
    )
    firsts = [int(row[0]) for row in seen if len(row)]
    if keeps_first(initial, firsts):
        extra = [extra_step(range(len(actions)), number) for number in range(len(episodes))]
        columns = {
            name: [np.append(fill[name], row) for fill, row in zip(extra, rows, strict=True)]
            for name, rows in columns.items()
            if name in ("actions", "rewards", "propensities")
        }
    else:
        seen = [row[1:] for row in seen]
        if observation_names is None and observations[-1:] == [START]:
            observations.pop()
    log = from_arrays(
        columns["actions"],
        seen,
        columns["rewards"],
        propensities=columns.get("propensities"),
        terminated=_last(episodes, "terminations"),
        truncated=_last(episodes, "truncations"),
        action_names=actions,
        observation_names=observations,
    )
    states = columns.get("states")
    return log if states is None else replace(log, states=np.concatenate(states))


def write_minari(log: Trajectories, name: str, *, description: str | None = None) -> Any:
    """Write a log as a local Minari dataset, which is returned; its name is new, as `a/b-v0`."""
    minari = _minari("writing", name)
    spaces: Any = import_module("gymnasium.spaces")
    buffers: Any = import_module("minari.data_collector.episode_buffer")
    if log.rewards is None:
        raise InputError("the log has no rewards, which Minari needs", place=name)
    actions, observations = log.action_names, (*log.observation_names, START)

    def buffer(number: int, episode: Trajectories) -> Any:
        assert episode.rewards is not None, "checked above"
        last = np.arange(len(episode.actions)) == len(episode.actions) - 1
        infos = {
            key: np.append([1], getattr(episode, column))
            for column, key in _INFOS.items()
            if getattr(episode, column) is not None
        }
        return buffers.EpisodeBuffer(
            id=number,
            observations=np.append(len(log.observation_names), episode.observations),
            actions=episode.actions.copy(),
            rewards=episode.rewards.copy(),
            terminations=last & episode.terminated[0],
            truncations=last & episode.truncated[0],
            infos=infos or None,
        )

    if not log.episodes:
        raise InputError("the log has no episodes, expected at least one", place=name)
    shortest = int(log.lengths.argmin())
    if not log.lengths[shortest]:
        raise InputError(f"episode {shortest} has no step, which Minari cannot store", place=name)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on metadata that only the maker of data knows
            made = minari.create_dataset_from_buffers(
                name,
                [buffer(number, episode) for number, episode in enumerate(log)],
                action_space=spaces.Discrete(len(actions)),
                observation_space=spaces.Discrete(len(observations)),
                description=description,
            )
    except (ImportError, ValueError, FileExistsError) as error:
        raise InputError(f"Minari cannot write this dataset: {_line(error)}", place=name) from None
    texts = {"action_space": json.dumps(actions), "observation_space": json.dumps(observations)}
    made.storage.update_metadata({_NAMES[space]: text for space, text in texts.items()})
    return made


def _minari(doing: str, name: str) -> Any:
    try:
        return import_module("minari")
    except ImportError:
        raise InputError(
            f"{doing} Minari datasets needs minari: pip install 'rpsr[data]'", place=name
        ) from None


def _load(name: str) -> Any:
    minari = _minari("reading", name)
    try:
        return minari.load_dataset(name)
    except FileNotFoundError:
        known = ", ".join(sorted(minari.list_local_datasets())) or "none"
        raise InputError(
            f"no such local Minari dataset, expected one of: {known}; `minari download {name}` "
            "fetches one from Minari's server",
            place=name,
        ) from None
    except (ImportError, ValueError) as error:  # ImportError if a reader of the format is missing
        raise InputError(f"Minari cannot load this dataset: {_line(error)}", place=name) from None


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


def _labels(dataset: Any, which: str) -> range:
    """The numbers of a discrete space."""
    space = getattr(dataset, which)
    size, start = getattr(space, "n", None), getattr(space, "start", None)
    if size is None or start is None:
        raise InputError(f"{which}: read {space}, expected a discrete space")
    return range(int(start), int(start) + int(size))


def _names(dataset: Any, which: str, labels: range) -> list[str]:
    """The names that `write_minari` has kept, or the numbers."""
    metadata = getattr(getattr(dataset, "storage", None), "metadata", None) or {}
    kept = metadata.get(_NAMES[which])
    names: list[str] = json.loads(kept) if isinstance(kept, str) else []
    return names if len(names) == len(labels) else list(map(str, labels))


def _indices(column: Any, labels: range) -> np.ndarray[Any, Any]:
    return np.asarray(column).reshape(len(column)).astype(np.int64) - labels.start


def _last(episodes: Sequence[Any], name: str) -> np.ndarray[Any, Any]:
    flags = [getattr(episode, name) for episode in episodes]
    return np.array([bool(len(flag) and flag[-1]) for flag in flags], dtype=np.bool_)


def _note_ignored(infos: Sequence[dict[str, Any]], dataset: Any) -> None:
    unknown = sorted({str(key) for info in infos for key in info} - set(_INFOS.values()))
    if unknown:
        place = getattr(getattr(dataset, "spec", None), "dataset_id", None) or "dataset"
        known = ("observations", "actions", "rewards", "terminations", "truncations")
        note = ignored_note([f"infos/{key}" for key in unknown], known, [place])
        warnings.warn(note, stacklevel=3)
