"""The log of a table, read into values."""
