"""Reads and compares the ids of rows, for tables of any format."""
