"""Pages in a real browser, from a real Airflow."""
