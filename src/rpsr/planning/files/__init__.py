"""Policies in files (native, `.alpha`, `.pg`, SARSOP's `.policy`), conversion, checkpoints."""
