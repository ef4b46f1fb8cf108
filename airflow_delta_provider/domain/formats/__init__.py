"""Formats that table formats are made of. They know nothing of tables."""
