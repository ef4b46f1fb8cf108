"""An Airflow of its own, as in the Airflow tier."""

from tests.airflow import conftest as conftest
