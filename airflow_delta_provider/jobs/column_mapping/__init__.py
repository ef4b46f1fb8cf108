"""Renamed and dropped columns, according to the log and footers."""
