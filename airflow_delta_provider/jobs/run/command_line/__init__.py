"""``python -m airflow_delta_provider.jobs``: flags derived from the options of each kind, and the report file."""
