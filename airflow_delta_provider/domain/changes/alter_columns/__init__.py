"""Columns added, renamed and dropped: how they are found, what forbids it, and the schema that results."""
