"""Releases of Airflow, Python, Spark and Delta that the tests run with, each in an environment of its own."""
