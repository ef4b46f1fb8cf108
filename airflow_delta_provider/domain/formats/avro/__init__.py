"""Avro object container files (Apache Avro 1.12, Specification)."""
