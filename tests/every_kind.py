"""One request per kind of job, for the tests of what is so with every kind."""

from __future__ import annotations

from collections.abc import Mapping

from airflow_delta_provider.domain.request.change_options import (
    AlterColumnsOptions,
    CreateTableOptions,
    DisableColumnMappingOptions,
    DropFeatureOptions,
    EnableFeatureOptions,
    WidenTypesOptions,
)
from airflow_delta_provider.domain.request.check_options import (
    AuditOptions,
    CheckCompatibilityOptions,
    CheckRetentionOptions,
    CheckRowTrackingOptions,
    PaimonCheckRowTrackingOptions,
    TryEnginesOptions,
)
from airflow_delta_provider.domain.request.migration_options import (
    ApplyMigrationOptions,
    ApplyRepairOptions,
    CheckDriftOptions,
    InitSpecOptions,
    PlanMigrationOptions,
    PlanRepairOptions,
)
from airflow_delta_provider.domain.request.options import ColumnMappingUsageOptions, DetailOptions, Options

#: A plan that fits no table: nothing is repaired.
_ANOTHER = {"digest": "0" * 64, "table_id": "another", "version": 0, "steps": [], "left_open": [], "table": ""}
#: For tables with the column ``quantity``, an int, and the feature ``checkConstraints`` without a constraint, in this
#: order: what changes nothing is first asked of them as they were made.
REQUESTS: Mapping[str, Options] = {
    options.kind: options
    for options in (
        DetailOptions(),
        InitSpecOptions(),
        AuditOptions(level="data"),
        PlanMigrationOptions(spec=({"comment": "as it was"},)),
        PlanRepairOptions(),
        CheckDriftOptions(spec=({"columns": [{"name": "quantity", "type": "int"}]},)),
        CheckRowTrackingOptions(),
        ColumnMappingUsageOptions(),
        CheckCompatibilityOptions(
            columns={"quantity": "bigint"}, fleet={"engines": [{"engine": "Delta Spark", "version": "4.4.0"}]}
        ),
        CheckRetentionOptions(level="files"),
        TryEnginesOptions(engines=("deltalake", "deltalake-pyarrow")),
        PaimonCheckRowTrackingOptions(level="data"),
        CreateTableOptions(columns={"id": "int"}, acknowledge_writer_lockout=True),
        EnableFeatureOptions(features=("appendOnly",)),
        WidenTypesOptions(columns={"quantity": "bigint"}, enable_type_widening=True, allow_protocol_upgrade=True),
        DropFeatureOptions(features=("checkConstraints",)),
        DisableColumnMappingOptions(),
        AlterColumnsOptions(add={"note": "string"}),
        ApplyMigrationOptions(spec=({"comment": "as declared"},)),
        ApplyRepairOptions(plan=(_ANOTHER,)),
    )
}
#: Those that change tables.
CHANGES = [options for options in REQUESTS.values() if options.changes]
