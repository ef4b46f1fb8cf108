"""Checks of Apache Paimon tables, read without Spark."""
