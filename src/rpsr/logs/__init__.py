"""Logs of interaction: what was done, what was seen and, where it was recorded, what it earned."""

from rpsr.logs.trajectories import Trajectories
from rpsr.logs.writers import write_logs

__all__ = ["Trajectories", "write_logs"]
