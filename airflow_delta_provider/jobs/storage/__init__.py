"""Files, where the session's Spark can read and write them."""
