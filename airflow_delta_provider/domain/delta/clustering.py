"""The columns that a table is clustered by. PROTOCOL.md, Clustered Table."""

from __future__ import annotations

from typing import Any

from airflow_delta_provider.domain.delta.column import UnknownColumnError, parse_path
from airflow_delta_provider.domain.formats.json_values import parse_json

#: The domain that names them.
CLUSTERING = "delta.clustering"


def clustering_columns(configuration: str | None) -> list[list[tuple[str, ...]]]:
    """Return the clustering columns, each in its possible readings: Spark writes parts, the protocol has a text."""
    try:
        listed: Any = parse_json(configuration or "{}").get("clusteringColumns")
    except (ValueError, AttributeError):
        return []
    found: list[list[tuple[str, ...]]] = []
    for entry in listed if isinstance(listed, list) else []:
        if isinstance(entry, list) and entry and all(isinstance(part, str) for part in entry):
            found.append([tuple(entry)])
        elif isinstance(entry, str) and entry:
            try:
                found.append([(entry,), parse_path(entry)])
            except UnknownColumnError:
                found.append([(entry,)])
    return found
