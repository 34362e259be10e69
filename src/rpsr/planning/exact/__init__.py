"""Value functions proven over the domain: planners `vi`, `enumeration`, `policy-iteration`."""
