"""Names of clustering columns: CM17. PROTOCOL.md, Writer Requirements for Clustered Table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from airflow_delta_provider.domain.checks.check import on_state
from airflow_delta_provider.domain.checks.column_mapping.family import FAMILY
from airflow_delta_provider.domain.checks.rule import Scope, causes
from airflow_delta_provider.domain.delta.clustering import CLUSTERING, clustering_columns
from airflow_delta_provider.domain.delta.column import lowered
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.mapped_schema import MappedField, MappedSchema
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity

#: Fields by their names, or their paths in data files, in lower case.
_Fields = Mapping[tuple[str, ...], MappedField]

CLUSTERING_NAMES = FAMILY.of(Scope.STATE).error(
    17,
    "clustering columns not by physical name",
    effect="The table still reads, but OPTIMIZE, DESCRIBE DETAIL and ALTER TABLE … CLUSTER BY fail, or the table is no "
    "longer clustered.",
    remedy="RESTORE the table to the previous version, or write it again with CREATE OR REPLACE TABLE … CLUSTER BY.",
    source="PROTOCOL.md, Writer Requirements for Clustered Table",
    follows_from=causes("CM03", "CM11"),
    shows="domainMetadata",
)


@on_state(CLUSTERING_NAMES)
def _names(state: TableState) -> Iterator[Finding]:
    columns = clustering_columns(state.domains.get(CLUSTERING))
    schema = _schema(state) if columns else None
    if schema is None:
        return
    logical = _by_name(schema)
    in_files = _by_path(schema) if schema.is_mapped else logical
    for parts in columns:
        if _called(parts, in_files) is not None:
            continue
        field = _called(parts, logical)
        if field is not None and field.path is None:
            continue  # its missing physical name is the fault
        name = ".".join(parts[0])
        if field is not None:
            what = "the physical name of that column is {physical}"
        else:
            what = f"the table has no column with this {'physical ' if schema.is_mapped else ''}name"
        yield CLUSTERING_NAMES.found(
            f"The table is clustered by {{name}}, but {what}.",
            # Delta Spark itself leaves it so where it disables column mapping.
            severity=None if schema.is_mapped else Severity.WARNING,
            column=name if field is None else field.column,
            name=name,
            physical=None if field is None else ".".join(field.path or ()),
        )


def named_by_files(state: TableState) -> list[str]:
    """Return the clustering columns that have no column's own name: engines do not find them without column mapping.

    None where it is off already: then dropping the feature loses nothing more.
    """
    schema = _schema(state)
    if schema is None or not schema.is_mapped:
        return []
    logical, in_files = _by_name(schema), _by_path(schema)
    found: list[str] = []
    for parts in clustering_columns(state.domains.get(CLUSTERING)):
        if _called(parts, logical) is None:
            field = _called(parts, in_files)
            found.append(".".join(parts[0]) if field is None else str(field.column))
    return found


def _schema(state: TableState) -> MappedSchema | None:
    try:
        return MappedSchema.of(state.metadata)
    except BrokenLogError:
        return None


def _by_name(schema: MappedSchema) -> _Fields:
    return {lowered(field.column.parts): field for field in schema.fields}


def _by_path(schema: MappedSchema) -> _Fields:
    return {lowered(field.path): field for field in schema.fields if field.path is not None}


def _called(parts: list[tuple[str, ...]], fields: _Fields) -> MappedField | None:
    """Return the field that has one of the names a clustering column may have."""
    return next((fields[lowered(part)] for part in parts if lowered(part) in fields), None)
