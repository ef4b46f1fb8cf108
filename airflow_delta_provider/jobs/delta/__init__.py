"""Delta tables: the session that opens them, their log, their data files."""
