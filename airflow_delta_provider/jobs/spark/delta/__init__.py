"""Delta tables with Spark: the session that opens them, and large checkpoints."""
