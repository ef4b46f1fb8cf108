"""Pages in Airflow's UI."""
