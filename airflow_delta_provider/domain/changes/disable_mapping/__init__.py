"""Disabling column mapping: whether it needs a rewrite, the plan, and its verification."""
