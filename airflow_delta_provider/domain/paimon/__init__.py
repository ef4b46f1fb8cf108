"""The metadata of Apache Paimon tables, as values and pure functions from bytes."""
