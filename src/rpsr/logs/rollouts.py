"""Logs from rollouts of environments, which observe before the first action.

Environments of Gymnasium give an observation at `reset` and one after every action, so a rollout of
T actions has T + 1 observations. The models of rpsr observe after each action. If the observation
before the first action is the same in all episodes, it is dropped. Otherwise, choose:
`initial="drop"` drops it, `initial="step"` makes it the observation after an extra first action,
which has no effect and earns nothing. It is one of the log's actions, drawn by the number of the
episode: a new action of its own would be one that a planner could take at any time, with effects
that no log shows. Values then count one more step, the first.

Libraries for offline reinforcement learning keep all steps in flat arrays. Their `observations`
hold what was observed before each action. The observation after the last action of an episode is in
`next_observations`, if there are such. Without them it is unknown: where the task ended, the
observation `(end)` takes its place, and where the recording was cut off, the last step is dropped.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from rpsr.errors import InputError
from rpsr.io.records import Bools
from rpsr.logs.blocks import DISCRETISE
from rpsr.logs.columns import ignored_note
from rpsr.logs.episodes import gathered
from rpsr.logs.json_lines import KEYS, blocks_of
from rpsr.logs.trajectories import Trajectories
from rpsr.models.renaming import END

Initial = Literal["drop", "step"] | None
PLACE = "episodes"
# Other names of keys, as Minari and libraries for offline reinforcement learning have them.
_SAME = {
    **dict.fromkeys(("terminations", "terminals", "terminal"), "terminated"),
    **dict.fromkeys(("truncations", "timeouts", "timeout"), "truncated"),
    **{"obs": "observations", "acts": "actions", "rews": "rewards"},
}


def from_episodes(
    episodes: Sequence[Mapping[str, Any]],
    *,
    initial: Initial = None,
    action_names: Sequence[str] | None = None,
    observation_names: Sequence[str] | None = None,
) -> Trajectories:
    """Episodes from dictionaries with lists or arrays of steps, such as rollouts of Gymnasium.

    Keys are those of JSON lines (`actions`, `observations`, `rewards`, `terminated`, ...) or of
    Minari (`terminations`, `truncations`: one flag per step, of which the last counts).
    Actions and observations are names or indices. With one observation more than actions, the
    first one is from before the first action; `initial` says what becomes of it.
    """
    check_initial(initial)
    plain = [_plain(episode, number) for number, episode in enumerate(episodes)]
    early = {len(e["observations"]) == len(e["actions"]) + 1 for e in plain if _has_lists(e)}
    names = None if action_names is None else list(action_names)
    if early == {True}:
        firsts = [episode["observations"][0] for episode in plain]
        if keeps_first(initial, firsts):
            taken = [e["actions"] for e in plain]
            if any(isinstance(action, int) for row in taken for action in row):
                names = names or _numbered(taken)
                labels: Sequence[Any] = range(len(names))
            else:
                labels = names or list(dict.fromkeys(action for row in taken for action in row))
            plain = [_with_first(e, labels, number) for number, e in enumerate(plain) if labels]
        else:
            plain = [e | {"observations": e["observations"][1:]} for e in plain]
    elif initial is not None:
        raise InputError(
            f"initial: read {initial!r}, which needs one observation more than actions in every "
            "episode; leave out initial"
        )
    blocks = list(blocks_of(plain, PLACE))
    ignored = dict.fromkeys(name for block in blocks for name in block.ignored)
    if ignored:
        warnings.warn(ignored_note(list(ignored), KEYS, [PLACE]), stacklevel=2)
    return gathered(blocks, names, observation_names)


def _has_lists(episode: Mapping[str, Any]) -> bool:
    return all(isinstance(episode.get(name), list) for name in ("actions", "observations"))


def _with_first(episode: dict[str, Any], labels: Sequence[Any], number: int) -> dict[str, Any]:
    """An episode with an extra first action, which has no reward."""
    fill = extra_step(labels, number)
    return episode | {
        name: [value, *episode[name]]
        for name, value in fill.items()
        if episode.get(name) is not None
    }


def _plain(episode: Any, number: int) -> dict[str, Any]:
    """An episode as JSON lines hold it: lists, and one flag of each kind."""
    if not isinstance(episode, Mapping):
        read = type(episode).__name__
        raise InputError(f"episode {number}: read {read}, expected a dictionary", place=PLACE)
    plain = {
        _SAME.get(str(name), str(name)): values.tolist() if hasattr(values, "tolist") else values
        for name, values in episode.items()
    }
    for name in ("actions", "observations", "rewards", "propensities", "states"):
        if isinstance(plain.get(name), list | tuple):
            plain[name] = [
                value.item() if isinstance(value, np.generic) else value for value in plain[name]
            ]
    for name in ("terminated", "truncated"):
        flag = plain.get(name)
        flag = flag[-1] if isinstance(flag, list | tuple) and flag else flag
        flag = False if isinstance(flag, list | tuple) else flag
        plain |= {name: bool(flag)} if flag in (0, 1) else {}
    return plain


def from_transitions(
    dataset: Mapping[str, Any],
    *,
    initial: Initial = None,
    action_names: Sequence[str] | None = None,
    observation_names: Sequence[str] | None = None,
) -> Trajectories:
    """A log from flat arrays (L,), one value per step, as libraries for offline RL keep them.

    `observations` (before each action), `actions`, and optionally `rewards`, `next_observations`,
    `terminals` (also `terminated`, `terminations`) and `timeouts` (also `truncated`,
    `truncations`), which mark the last step of an episode. Other keys are ignored, with a note.
    """
    check_initial(initial)
    given = {_SAME.get(name, name): dataset[name] for name in dataset}
    columns = {name: _flat(given[name], name) for name in _FLAT if given.get(name) is not None}
    for name in ("observations", "actions"):
        if name not in columns:
            read = ", ".join(map(str, dataset)) or "none"
            raise InputError(f"has no {name}; its keys are {read}", place="dataset")
    steps = len(columns["actions"])
    for name, column in columns.items():
        if len(column) != steps:
            raise InputError(
                f"{name}: read {len(column)} values, expected {steps}, one per action",
                place="dataset",
            )
    if unknown := [str(name) for name in dataset if _SAME.get(name, name) not in _FLAT]:
        warnings.warn(ignored_note(unknown, _FLAT, ["dataset"]), stacklevel=2)
    nowhere = np.zeros(steps, dtype=np.bool_)
    terminated, truncated = (_flags(columns.get(name, nowhere), name) for name in _ENDS)
    ends = np.flatnonzero(terminated | truncated) + 1
    bounds = [0, *ends.tolist()]
    if bounds[-1] < steps:
        bounds.append(steps)
    follow, names = columns.get("next_observations"), observation_names
    last: Any = END
    if columns["observations"].dtype.kind in "iu":
        names = names or _numbered([columns["observations"], [] if follow is None else follow])
        last = len(names)
    episodes: list[dict[str, Any]] = []
    for first, end in pairwise(bounds):
        over = bool(terminated[end - 1])
        kept = end if follow is not None or over else end - 1
        seen = columns["observations"][first : kept + (kept < end)].tolist()
        if follow is not None:
            seen = [seen[0], *follow[first:end].tolist()]
        elif over:
            seen.append(last)
        episode = {
            name: columns[name][first:kept].tolist()
            for name in ("actions", "rewards", "propensities")
            if name in columns
        }
        flags = {"terminated": over, "truncated": bool(truncated[end - 1]) or not over}
        if kept > first:
            episodes.append(episode | {"observations": seen} | flags)
    if names is not None and follow is None and terminated.any():
        names = [*names, END]
    return from_episodes(
        episodes,
        initial=initial if episodes else None,
        action_names=action_names,
        observation_names=names,
    )


_ENDS = ("terminated", "truncated")
_FLAT = ("observations", "actions", "rewards", "next_observations", *_ENDS, "propensities")


def _flat(given: Any, name: str) -> np.ndarray[Any, Any]:
    column = np.asarray(given)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    symbols = name in ("observations", "actions", "next_observations")
    good = column.ndim == 1 and (not symbols or column.dtype.kind in "iuU" or not column.size)
    if symbols and column.dtype.kind == "O" and column.ndim == 1:
        good = all(isinstance(value, str) for value in column)
    if not good:
        expected = "names or whole numbers, one per step" if symbols else "one number per step"
        read = f"values of type {column.dtype} and shape {column.shape}"
        hint = f"; {DISCRETISE}" if symbols else ""
        raise InputError(f"{name}: read {read}, expected {expected}{hint}", place="dataset")
    return column


def _flags(column: np.ndarray[Any, Any], name: str) -> Bools:
    if column.dtype.kind not in "biuf" or not np.isin(column, (0, 1)).all():
        raise InputError(f"{name}: expected true or false, one per step", place="dataset")
    return column.astype(np.bool_)


def _numbered(columns: Sequence[Any]) -> list[str]:
    """The names of indices from 0 to the largest."""
    return [
        str(i) for i in range(1 + max((int(i) for column in columns for i in column), default=-1))
    ]


def extra_step(labels: Sequence[Any], number: int) -> dict[str, Any]:
    """The extra first step of the episode of this number: its action, reward and propensity."""
    # Drawn, because episodes in turn are also those that are held out.
    drawn = int(np.random.default_rng(number).integers(len(labels)))
    return {
        "actions": labels[drawn],
        "rewards": 0.0,
        "propensities": 1 / len(labels),
    }


def check_initial(initial: Any) -> None:
    """Refuse an `initial` that is none of those."""
    if initial not in (None, "drop", "step"):
        raise InputError(f"initial: read {initial!r}, expected None, 'drop' or 'step'")


def keeps_first(initial: Initial, firsts: Sequence[Any]) -> bool:
    """Whether observations before the first action are kept; an error if nobody has chosen."""
    if initial is None and len(set(firsts)) > 1:
        raise InputError(
            "the observation before the first action differs from episode to episode: use "
            "initial='drop' to drop it or initial='step' to keep it after an extra first action"
        )
    return initial == "step"
