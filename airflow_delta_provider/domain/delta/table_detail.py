"""A description of a table in one JSON object, for DAG tasks that branch on it.

PROTOCOL.md, Change Metadata, Protocol Evolution and Commit Provenance Information.
"""

from __future__ import annotations

from typing import Any

from airflow_delta_provider.domain.delta.commit import Commit, time_of
from airflow_delta_provider.domain.delta.data_type import sql_name
from airflow_delta_provider.domain.delta.features.state import feature_states
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.formats.json_values import parse_json


def detail_of(state: TableState, location: str, commit: Commit | None = None) -> dict[str, Any]:
    """Return the description of a table as plain JSON.

    :param location: URI of its directory
    :param commit: commit of the state's version; None if the log no longer has it
    """
    metadata = state.metadata
    return {
        "location": location,
        "id": metadata.id or None,
        "name": _text(metadata.name),
        "description": _text(metadata.description),
        "format": {"provider": metadata.format_provider, "options": dict(metadata.format_options)},
        **_schemas(metadata),
        "partition_columns": list(metadata.partition_columns),
        "configuration": dict(sorted(metadata.configuration.items())),
        "created_time": time_of(metadata.created_time),
        "column_mapping_mode": metadata.properties.mapping_mode.value,
        "protocol": state.protocol.to_json(),
        "features": feature_states(state.protocol, metadata),
        "last_commit": None if commit is None else commit.provenance,
    }


def _schemas(metadata: Metadata) -> dict[str, Any]:
    """Return the columns' SQL types, the schema, and the schema of data files; each None if damaged."""
    try:
        columns = {field.name: sql_name(field.data_type) for field in metadata.schema.fields}
    except BrokenLogError:
        return {"columns": None, "schema": None, "data_schema": None}
    schema = parse_json(metadata.schema_string)
    in_files = [field for field in schema["fields"] if field["name"] not in metadata.partition_columns]
    return {"columns": columns, "schema": schema, "data_schema": {**schema, "fields": in_files}}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
