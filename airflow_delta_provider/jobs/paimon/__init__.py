"""Checks of Apache Paimon tables. Metadata is read without Spark; rows need it."""
