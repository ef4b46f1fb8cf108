"""Watches of Paimon tables: they read snapshots through object storage."""
