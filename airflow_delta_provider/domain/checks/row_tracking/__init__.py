"""The family ``RT``: row tracking."""
