"""Spectral estimators, the rank a log supports, core intents, and whether a PSR is enough."""
