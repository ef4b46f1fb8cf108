"""Operators: one module per kind of job."""
