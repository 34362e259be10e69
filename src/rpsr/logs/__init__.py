"""Logs of interaction: actions, observations and, if recorded, rewards."""

from rpsr.logs.arrays import from_arrays
from rpsr.logs.census import Census
from rpsr.logs.episodes import Columns
from rpsr.logs.minari import read_minari
from rpsr.logs.readers import open_logs, read_logs
from rpsr.logs.stream import LogStream, stream_logs
from rpsr.logs.trajectories import Trajectories
from rpsr.logs.writers import write_logs

__all__ = [
    "Census",
    "Columns",
    "LogStream",
    "Trajectories",
    "from_arrays",
    "open_logs",
    "read_logs",
    "read_minari",
    "stream_logs",
    "write_logs",
]
