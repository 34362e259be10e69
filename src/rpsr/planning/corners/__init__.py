"""A model as the corners of its domain see it: moves, backups, linear programs, cheap bounds."""
