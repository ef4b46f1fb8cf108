"""Watches of Delta tables: they read the log through object storage."""
