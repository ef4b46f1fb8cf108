"""What must hold of the columns that a table is clustered by: CM17 and MD14. PROTOCOL.md, Clustered Table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from airflow_delta_provider.domain.checks.check import on_state
from airflow_delta_provider.domain.checks.column_mapping import rules
from airflow_delta_provider.domain.checks.metadata import rules as metadata_rules
from airflow_delta_provider.domain.delta.column import UnknownColumnError, lowered, parse_path
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.mapped_schema import MappedField, MappedSchema
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.formats.json_values import parse_json
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity

CLUSTERING = "delta.clustering"

#: Fields by their names, or their paths in data files, in lower case.
_Fields = Mapping[tuple[str, ...], MappedField]


@on_state()
def check_state(state: TableState) -> Iterator[Finding]:
    """Yield what is wrong with the clustering of ``state``. Silent where the schema cannot be read."""
    columns = clustering_columns(state.domains.get(CLUSTERING))
    if not columns:
        return
    if state.metadata.partition_columns:
        yield metadata_rules.CLUSTERED_AND_PARTITIONED.finding(
            f"The table is partitioned by {', '.join(map(str, state.metadata.partition_columns))} and clustered by "
            f"{', '.join('.'.join(parts[0]) for parts in columns)}; it may be only one of both: engines refuse it, or "
            "no longer cluster it. ALTER TABLE … CLUSTER BY NONE takes clustering away.",
            version=state.version,
        )
    try:
        schema = MappedSchema.of(state.metadata)
    except BrokenLogError:
        return
    yield from _names(state, schema, columns)


def _names(state: TableState, schema: MappedSchema, columns: list[list[tuple[str, ...]]]) -> Iterator[Finding]:
    logical = _by_name(schema)
    in_files = _by_path(schema) if schema.is_mapped else logical
    for parts in columns:
        if _called(parts, in_files) is not None:
            continue
        field = _called(parts, logical)
        if field is not None and field.path is None:
            continue  # its missing physical name is the fault
        name = ".".join(parts[0])
        what = (
            f"no column of the table has this {'physical ' if schema.is_mapped else ''}name"
            if field is None
            else f"the physical name of that column is {'.'.join(field.path or ())}"
        )
        finding = rules.CLUSTERING_NAMES.finding(
            f"The table is clustered by {name}, but {what}: it still reads, but OPTIMIZE, DESCRIBE DETAIL and ALTER "
            "TABLE … CLUSTER BY fail, or the table is no longer clustered. RESTORE it to the version before, or write "
            "it anew: CREATE OR REPLACE TABLE … CLUSTER BY (…) AS SELECT ….",
            version=state.version,
            column=name if field is None else str(field.column),
        )
        # Delta Spark itself leaves it so where it takes column mapping away.
        yield finding if schema.is_mapped else replace(finding, severity=Severity.WARNING)


def named_by_files(state: TableState) -> list[str]:
    """Return the clustering columns that have no column's own name: without column mapping nobody finds them.

    None where it is off already: then taking the feature away loses nothing more.
    """
    try:
        schema = MappedSchema.of(state.metadata)
    except BrokenLogError:
        return []
    if not schema.is_mapped:
        return []
    logical, in_files = _by_name(schema), _by_path(schema)
    found: list[str] = []
    for parts in clustering_columns(state.domains.get(CLUSTERING)):
        if _called(parts, logical) is None:
            field = _called(parts, in_files)
            found.append(".".join(parts[0]) if field is None else str(field.column))
    return found


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


def _by_name(schema: MappedSchema) -> _Fields:
    return {lowered(field.column.parts): field for field in schema.fields}


def _by_path(schema: MappedSchema) -> _Fields:
    return {lowered(field.path): field for field in schema.fields if field.path is not None}


def _called(parts: list[tuple[str, ...]], fields: _Fields) -> MappedField | None:
    """Return the field that has one of the names a clustering column may have."""
    return next((fields[lowered(part)] for part in parts if lowered(part) in fields), None)
