"""Reachable states as a finite decision problem: planner `reachable`."""
