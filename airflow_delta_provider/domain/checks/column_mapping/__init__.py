"""The family ``CM``: column mapping."""
