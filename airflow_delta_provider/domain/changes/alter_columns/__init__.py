"""Columns added, renamed and dropped: resolving names, restrictions, the resulting schema, verification."""
