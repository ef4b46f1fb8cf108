"""The objects that a job opens: sessions with a table format, table logs, data files."""
