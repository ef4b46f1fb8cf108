"""Executing the steps of a migration: what no single statement of the engine does."""
