"""A gap at the start that closes while it runs: planners `hsvi` and `sarsop`."""
