"""Entry point of ``python -m airflow_delta_provider``."""

from __future__ import annotations

from airflow_delta_provider.command_line.main import run

run()
