"""Submission of jobs through spark-submit."""
