"""The declared state of tables, from a file next to the DAGs or from a value in Python."""
