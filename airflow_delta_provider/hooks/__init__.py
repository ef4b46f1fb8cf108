"""Submitting jobs through spark-submit."""
