"""Read a log into memory, as one `Trajectories`."""

from __future__ import annotations

from collections.abc import Sequence

from rpsr.logs.columns import ColumnsLike
from rpsr.logs.stream import LogStream, Paths, stream_logs
from rpsr.logs.trajectories import Trajectories, join

SMALL = 2**22  # steps, because a file's size says little about its steps


def read_logs(
    paths: Paths,
    *,
    action_names: Sequence[str] | None = None,
    observation_names: Sequence[str] | None = None,
    columns: ColumnsLike | None = None,
) -> Trajectories:
    """The episodes of a file, a folder of files, or several of these, in order of file name.

    `-` is standard input, in JSON lines.
    JSON lines hold one episode per line, CSV and Parquet one row per step with the column names
    `columns`.
    If no names are given, those in the log are sorted, and indices are counted from 0.
    """
    log = stream_logs(
        paths,
        action_names=action_names,
        observation_names=observation_names,
        columns=columns,
    )
    return join(log.held() or log)


def open_logs(paths: Paths, *, columns: ColumnsLike | None = None) -> Trajectories | LogStream:
    """The episodes of files or folders: in memory if small, as a stream if large."""
    log = stream_logs(paths, columns=columns)
    held = log.held(SMALL)
    if held is not None:
        return join(held)
    _ = log.names  # reads a large log to its end, so that errors appear here
    return log
