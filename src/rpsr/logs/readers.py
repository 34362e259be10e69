"""Logs in memory: everything that `stream_logs` would give, as one `Trajectories`."""

from __future__ import annotations

from collections.abc import Sequence

from rpsr.logs.episodes import Columns
from rpsr.logs.stream import LogStream, Paths, stream_logs
from rpsr.logs.trajectories import Trajectories, join

SMALL = 2**22  # steps: what a file packs into how many bytes, nobody knows beforehand


def read_logs(
    paths: Paths,
    *,
    action_names: Sequence[str] | None = None,
    observation_names: Sequence[str] | None = None,
    columns: Columns | None = None,
) -> Trajectories:
    """The episodes of a file, a folder of files, or several of these, in order of file name.

    `-` is standard input, in JSON lines.
    JSON lines hold one episode a line, Parquet one row a step under the names in `columns`. Where
    no names are given, names found in the log are sorted and indices are counted from 0.
    """
    log = stream_logs(
        paths,
        action_names=action_names,
        observation_names=observation_names,
        columns=columns,
    )
    return join(log.held() or log)


def open_logs(paths: Paths, *, columns: Columns | None = None) -> Trajectories | LogStream:
    """The episodes of some files or folders: in memory if small, as a stream if they are large."""
    log = stream_logs(paths, columns=columns)
    held = log.held(SMALL)
    if held is not None:
        return join(held)
    _ = log.names  # a large log, too, is read to its end before it is handed over
    return log
