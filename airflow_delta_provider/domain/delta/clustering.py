"""The clustering columns of a table. PROTOCOL.md, Clustered Table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_delta_provider.domain.delta.column import UnknownColumnError, lowered, parse_path
from airflow_delta_provider.domain.delta.mapped_schema import MappedField, MappedSchema
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.formats.json_values import parse_json

#: Domain metadata of clustering.
CLUSTERING = "delta.clustering"

#: Fields by their names, or by their paths in data files, in lower case.
Fields = Mapping[tuple[str, ...], MappedField]


def named_by_files(metadata: Metadata, domains: Mapping[str, str]) -> list[str]:
    """Return clustering columns that are recorded under physical names only.

    They cannot be resolved once column mapping is off. The list is empty if it is off already: removing the feature
    then loses nothing more.
    """
    schema = MappedSchema.readable(metadata)
    if schema is None or not schema.is_mapped:
        return []
    logical, in_files = fields_by_name(schema), fields_by_path(schema)
    found: list[str] = []
    for parts in clustering_columns(domains.get(CLUSTERING)):
        if field_called(parts, logical) is None:
            field = field_called(parts, in_files)
            found.append(".".join(parts[0]) if field is None else str(field.column))
    return found


def is_clustering(configuration: str) -> bool:
    """Return True if the domain's configuration lists columns, each as its parts or as a string."""
    try:
        listed: Any = parse_json(configuration).get("clusteringColumns")
    except (ValueError, AttributeError):
        return False
    return isinstance(listed, list) and len(clustering_columns(configuration)) == len(listed)


def clustering_columns(configuration: str | None) -> list[list[tuple[str, ...]]]:
    """Return the clustering columns, each with its possible readings.

    Spark writes a column as a list of parts; in the protocol it is a string.
    """
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


def fields_by_name(schema: MappedSchema) -> Fields:
    """Return the fields by their logical paths."""
    return {lowered(field.column.parts): field for field in schema.fields}


def fields_by_path(schema: MappedSchema) -> Fields:
    return {lowered(field.path): field for field in schema.fields if field.path is not None}


def field_called(parts: list[tuple[str, ...]], fields: Fields) -> MappedField | None:
    """Return the field that matches one of the readings of a clustering column, or None."""
    return next((fields[lowered(part)] for part in parts if lowered(part) in fields), None)


def clustering_of(metadata: Metadata, domains: Mapping[str, str]) -> list[tuple[str, ...]]:
    """Return the logical paths of the clustering columns.

    The domain lists them by their names in data files.

    :raises BrokenLogError: if the schema string is not a struct
    """
    fields = fields_by_path(MappedSchema.of(metadata))
    found = ((readings, field_called(readings, fields)) for readings in clustering_columns(domains.get(CLUSTERING)))
    return [readings[-1] if field is None else field.column.parts for readings, field in found]
