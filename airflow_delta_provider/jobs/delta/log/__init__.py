"""A table's log, read into values."""
