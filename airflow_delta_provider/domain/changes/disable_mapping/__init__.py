"""Disabling column mapping: the need for a rewrite, the plan, and its verification."""
