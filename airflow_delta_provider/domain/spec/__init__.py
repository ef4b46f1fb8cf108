"""The declared state of tables: what a file beside the DAGs, or a value in Python, says that a table should be."""
