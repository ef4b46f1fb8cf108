"""Watches for sensors and triggers: they read logs and snapshots in object storage, without Spark."""
