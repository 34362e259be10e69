"""The states that can be reached, as a finite problem: planner `reachable`."""
