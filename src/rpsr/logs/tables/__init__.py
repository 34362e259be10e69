"""Logs as tables with one row per step: CSV, Parquet, data frames and lists of records."""
