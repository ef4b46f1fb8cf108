"""Operators: one module a job kind."""
