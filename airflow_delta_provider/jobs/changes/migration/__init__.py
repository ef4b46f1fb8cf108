"""Execution of migration steps that no single statement of the engine can do."""
