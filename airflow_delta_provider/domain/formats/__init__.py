"""Formats that table formats are made of. They know no table."""
