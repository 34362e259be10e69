"""Logs in memory: everything that `stream_logs` would give, as one `Trajectories`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from rpsr.errors import InputError
from rpsr.logs.episodes import Columns
from rpsr.logs.stream import LogStream, Paths, stream_logs
from rpsr.logs.trajectories import Trajectories

SMALL = 2**22  # steps: what a file packs into how many bytes, nobody knows beforehand


def read_logs(
    paths: Paths,
    *,
    action_names: Sequence[str] | None = None,
    observation_names: Sequence[str] | None = None,
    columns: Columns | None = None,
) -> Trajectories:
    """The episodes of a file, a folder of files, or several of these, in order of file name.

    JSON lines hold one episode a line, Parquet one row a step under the names in `columns`. Where
    no names are given, names found in the log are sorted and indices are counted from 0.
    """
    log = stream_logs(
        paths,
        action_names=action_names,
        observation_names=observation_names,
        columns=columns,
    )
    return join(log)


def open_logs(paths: Paths, *, columns: Columns | None = None) -> Trajectories | LogStream:
    """The episodes of some files or folders: in memory if small, as a stream if they are large."""
    log = stream_logs(paths, columns=columns)
    held: list[Trajectories] = []
    steps = 0
    for chunk in log:
        held.append(chunk)
        steps += chunk.steps
        if steps > SMALL:
            return log
    return join(held)


def join(logs: Iterable[Trajectories]) -> Trajectories:
    """Several logs over the same names as one, episode after episode."""
    parts = list(logs)
    if not parts:
        raise InputError("no log to join")
    first = parts[0]
    for part in parts:
        for kind in ("action_names", "observation_names"):
            read, expected = getattr(part, kind), getattr(first, kind)
            if read != expected:
                raise InputError(f"{kind}: read {read}, expected {expected}, as before")

    def column(name: str) -> np.ndarray | None:
        columns = [getattr(part, name) for part in parts]
        present = [c for c in columns if c is not None]
        if present and len(present) < len(columns):
            raise InputError(f"{name}: some logs have them and some do not")
        return np.concatenate(present) if present else None

    return Trajectories(
        action_names=first.action_names,
        observation_names=first.observation_names,
        actions=np.concatenate([part.actions for part in parts]),
        observations=np.concatenate([part.observations for part in parts]),
        offsets=np.cumsum([0, *(n for part in parts for n in part.lengths.tolist())]),
        terminated=np.concatenate([part.terminated for part in parts]),
        rewards=column("rewards"),
        propensities=column("propensities"),
        states=column("states"),
    )
