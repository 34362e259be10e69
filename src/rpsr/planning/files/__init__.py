"""Policies and plans in files: native, classic, and checkpoints."""
