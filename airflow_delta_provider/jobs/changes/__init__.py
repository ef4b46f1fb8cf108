"""The kinds of job that change a table through the engine."""
