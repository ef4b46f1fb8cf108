"""The kinds of job that change a table by statements of the engine."""
