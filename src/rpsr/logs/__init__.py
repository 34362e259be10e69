"""Logs of interaction: actions, observations and, if recorded, rewards."""

from rpsr.logs.arrays import from_arrays
from rpsr.logs.census import Census
from rpsr.logs.columns import Columns
from rpsr.logs.minari import read_minari, write_minari
from rpsr.logs.readers import open_logs, read_logs
from rpsr.logs.rollouts import from_episodes, from_transitions
from rpsr.logs.stream import LogStream, stream_logs
from rpsr.logs.tables.frames import from_frame
from rpsr.logs.tables.records import from_records
from rpsr.logs.task_logs import task_log
from rpsr.logs.trajectories import Trajectories
from rpsr.logs.writers import write_logs

__all__ = [
    "Census",
    "Columns",
    "LogStream",
    "Trajectories",
    "from_arrays",
    "from_episodes",
    "from_frame",
    "from_records",
    "from_transitions",
    "open_logs",
    "read_logs",
    "read_minari",
    "stream_logs",
    "task_log",
    "write_logs",
    "write_minari",
]
