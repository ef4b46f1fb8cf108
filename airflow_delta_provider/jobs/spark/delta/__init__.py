"""Delta tables by Spark: the session that opens them, and large checkpoints."""
