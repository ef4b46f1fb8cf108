"""Links of a task in Airflow's web interface."""
