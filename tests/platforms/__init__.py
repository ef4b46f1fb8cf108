"""The guides of platforms, with the Airflow providers that they use."""
