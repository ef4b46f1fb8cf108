"""Triggers that wait without a worker."""
