"""Migrations: the changes that bring a table to its spec, and their effects on its users."""
