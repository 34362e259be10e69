"""Promises: what a policy will earn on the true system, by a log, with bounds that should hold."""
