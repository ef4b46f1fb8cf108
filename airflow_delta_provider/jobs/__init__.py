"""The code that accesses tables. It needs no Airflow; jobs that read rows or change tables need Spark."""
