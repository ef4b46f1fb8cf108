"""Migrations: how a table comes to be what its spec says, and what that does to those who use it."""
