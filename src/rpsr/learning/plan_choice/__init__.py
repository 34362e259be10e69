"""Choosing a plan: its value in all models, its off-policy value, its plausibility."""
