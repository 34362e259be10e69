"""Planner `auto`: several planners in turn, and the best bounds of all of them."""
