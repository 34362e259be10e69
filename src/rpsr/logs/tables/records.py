"""Logs from what Python programs hold: lists of dictionaries, and anything that is a log."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rpsr.errors import InputError
from rpsr.logs.columns import ROLES, Columns, ColumnsLike, ignored_note, roles_of
from rpsr.logs.episodes import gathered
from rpsr.logs.rollouts import from_episodes, from_transitions
from rpsr.logs.tables.frames import from_frame, is_frame
from rpsr.logs.tables.listed import PlainColumn
from rpsr.logs.tables.row_blocks import Rows, Table
from rpsr.logs.trajectories import Trajectories

PLACE = "records"


def from_records(
    records: Sequence[Mapping[str, Any]],
    *,
    columns: ColumnsLike | None = None,
    action_names: Sequence[str] | None = None,
    observation_names: Sequence[str] | None = None,
) -> Trajectories:
    """The episodes of a list of dictionaries, one per step, as a data frame of them would be read.

    In errors, records are counted from 0.
    """
    names: dict[str, None] = {}
    for number, record in enumerate(records):
        if not isinstance(record, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            read = type(record).__name__
            raise InputError(f"read {read}, expected a dictionary", place=PLACE, line=number)
        names.update(dict.fromkeys(map(str, record)))
    by_name = {name: [_plain(record.get(name)) for record in records] for name in names}

    def whole(name: str) -> bool:
        return all(isinstance(value, int) for value in by_name[name])

    if not records:
        return gathered([], action_names, observation_names)
    roles = roles_of(list(names), Columns.of(columns), PLACE, whole)
    if roles.ignored:
        warnings.warn(ignored_note(roles.ignored, ROLES, [PLACE]), stacklevel=2)
    used = {role: PlainColumn(by_name[name]) for role, name in roles.used.items()}
    rows = Rows(np.arange(len(records)), dict(used))
    blocks = Table(PLACE, len(records), roles, "record").blocks(iter([rows]))
    return gathered(blocks, action_names, observation_names)


def _plain(value: Any) -> Any:
    """A value of numpy as Python has it."""
    scalar = isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0)
    return value.item() if scalar else value


def as_log(given: Any) -> Any:
    """A log from a data frame, flat arrays, or a list of dictionaries; all else unchanged."""
    if is_frame(given):
        return from_frame(given)
    if isinstance(given, Mapping):
        return from_transitions(given)
    if isinstance(given, list) and given and all(isinstance(one, Mapping) for one in given):
        first = given[0].get("actions")
        episodes = isinstance(first, list | tuple | np.ndarray)
        return from_episodes(given) if episodes else from_records(given)
    return given
