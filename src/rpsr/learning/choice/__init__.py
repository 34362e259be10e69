"""Which plan to follow, what a log says of it, and whether it can be believed."""
