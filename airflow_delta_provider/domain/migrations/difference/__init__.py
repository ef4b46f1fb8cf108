"""Differences between a table and its spec."""
