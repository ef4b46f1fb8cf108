"""All that takes Spark: sessions, storage through Hadoop, proofs about rows."""
