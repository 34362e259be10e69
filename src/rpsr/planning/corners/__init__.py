"""A model at the corners of its domain: moves, backups, linear programs, cheap bounds."""
