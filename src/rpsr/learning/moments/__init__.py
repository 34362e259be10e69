"""Moments of logs: what is counted, the sums, and the matrices of intents by histories."""
