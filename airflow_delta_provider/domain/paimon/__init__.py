"""What Apache Paimon keeps of a table, as values and pure functions from bytes."""
