"""Specs from the text of one file."""

from __future__ import annotations

from airflow_delta_provider.domain.spec.files import parse_files
from airflow_delta_provider.domain.spec.table_spec import TableSpec


def parse_file(text: str, name: str) -> tuple[TableSpec, ...]:
    """Return the specs of a file; one whose name ends with ``.json`` is JSON, any other YAML."""
    return parse_files([(name, text)])
