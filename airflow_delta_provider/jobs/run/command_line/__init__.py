"""``python -m airflow_delta_provider.jobs``: one module per kind of job."""
