"""The family ``MD``: the metadata of a table, its schema and its properties."""
