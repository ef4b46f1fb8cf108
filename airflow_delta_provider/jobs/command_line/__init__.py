"""``python -m airflow_delta_provider.jobs``: a kind of job a module."""
