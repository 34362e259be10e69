"""Logs of interaction: what was done, what was seen and, where it was recorded, what it earned."""

from rpsr.logs.trajectories import Trajectories

__all__ = ["Trajectories"]
