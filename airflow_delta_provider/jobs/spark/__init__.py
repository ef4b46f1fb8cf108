"""Everything that needs Spark: sessions, storage through Hadoop, proofs about rows."""
