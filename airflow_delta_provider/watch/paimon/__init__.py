"""Watching Paimon tables: their snapshots, read through object storage."""
