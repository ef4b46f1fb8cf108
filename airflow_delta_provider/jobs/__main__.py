"""The former name of ``delta-provider``: ``python -m airflow_delta_provider.jobs``. The next release removes it."""

from __future__ import annotations

from importlib import import_module

# By name, because nothing in this folder may import the command line.
import_module("airflow_delta_provider.command_line.main").run(as_jobs=True)
