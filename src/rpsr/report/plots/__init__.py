"""Plots, drawn in one style and saved as the same bytes every time."""
