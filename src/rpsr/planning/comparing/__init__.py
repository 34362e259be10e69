"""Comparison of two policies or plans: where they differ, and the cost in value."""
