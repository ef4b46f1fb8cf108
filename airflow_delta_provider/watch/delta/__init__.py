"""Watching Delta tables: their log, read through object storage."""
