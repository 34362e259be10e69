"""Anytime planning: planners `hsvi` and `sarsop` narrow the gap at the start."""
