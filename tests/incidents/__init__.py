"""Incidents in services, by Airflow's providers and a local server that answers as their documentation says."""
