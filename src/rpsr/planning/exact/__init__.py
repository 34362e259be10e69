"""Value functions proven everywhere: planners `vi`, `enumeration`, `policy-iteration`."""
