"""What sensors and triggers look at: logs and snapshots in object storage, without Spark."""
