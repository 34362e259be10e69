"""Ranks and core sets: decided in exact arithmetic, or in floats with a margin."""
