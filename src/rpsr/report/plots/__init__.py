"""Plots in one style; equal plots give equal bytes."""
