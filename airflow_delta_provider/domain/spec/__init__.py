"""The declared state of tables: what a file next to the DAGs, or a value in Python, says that a table should be."""
