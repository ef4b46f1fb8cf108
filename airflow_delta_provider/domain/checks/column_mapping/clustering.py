"""Names of clustering columns: CM17. PROTOCOL.md, Writer Requirements for Clustered Table."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_delta_provider.domain.checks.check import on_state
from airflow_delta_provider.domain.checks.column_mapping.family import FAMILY
from airflow_delta_provider.domain.checks.metadata.domains import DOMAIN_OF_MISSING_FEATURE
from airflow_delta_provider.domain.checks.remedy import Restore
from airflow_delta_provider.domain.checks.rule import Scope, causes
from airflow_delta_provider.domain.delta.clustering import (
    CLUSTERING,
    clustering_columns,
    field_called,
    fields_by_name,
    fields_by_path,
)
from airflow_delta_provider.domain.delta.features.column_mapping import COLUMN_MAPPING
from airflow_delta_provider.domain.delta.mapped_schema import MappedSchema
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity

CLUSTERING_NAMES = FAMILY.of(Scope.STATE).error(
    17,
    "clustering columns not by physical name",
    effect="The table still reads, but OPTIMIZE, DESCRIBE DETAIL and ALTER TABLE … CLUSTER BY fail, or the table is no "
    "longer clustered.",
    remedy=Restore(instead="write the table again with CREATE OR REPLACE TABLE … CLUSTER BY"),
    source="PROTOCOL.md, Writer Requirements for Clustered Table",
    follows_from=causes("CM03", "CM09", "CM11", DOMAIN_OF_MISSING_FEATURE),
    shows="domainMetadata",
)


@on_state(CLUSTERING_NAMES)
def _names(state: TableState) -> Iterator[Finding]:
    columns = clustering_columns(state.domains.get(CLUSTERING))
    schema = MappedSchema.readable(state.metadata) if columns else None
    if schema is None:
        return
    logical = fields_by_name(schema)
    in_files = fields_by_path(schema) if schema.is_mapped else logical
    was_mapped = not schema.is_mapped and state.protocol.supports(COLUMN_MAPPING)
    for parts in columns:
        if field_called(parts, in_files) is not None:
            continue
        field = field_called(parts, logical)
        if None in {of.path for of in ([field] if field else schema.fields if schema.is_mapped else ())}:
            continue  # the fault is the missing physical name
        name = ".".join(parts[0])
        if field is not None:
            what = "the physical name of that column is {physical}"
        else:
            what = f"the table has no column with this {'physical ' if schema.is_mapped else ''}name"
        yield CLUSTERING_NAMES.found(
            f"The table is clustered by {{name}}, but {what}.",
            # Delta Spark itself leaves the names like this when it disables column mapping.
            severity=Severity.WARNING if was_mapped else None,
            column=name if field is None else field.column,
            name=name,
            physical=None if field is None else ".".join(field.path or ()),
        )
