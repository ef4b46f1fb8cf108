"""All kinds of jobs, and the places of their parts.

Parts are loaded when they are needed: a job imports no other kind's code, and Airflow lists the operators without
importing them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.text import did_you_mean

_PACKAGE = "airflow_delta_provider"


@dataclass(frozen=True)
class Kind:
    """A kind of job.

    Its parts are written as ``module:name``, with the module relative to this package.

    :param name: name in requests, in reports and on the command line
    :param summary: purpose of the job, in a sentence without its full stop
    :param example: arguments of the command that show its purpose
    :param job: function that handles a request for one table and reports on it, with Spark
    :param operator: operator that runs it; None if only the command line does
    :param reading_job: the same function for requests that need only logs and footers, without Spark; None if none can
    """

    name: str
    summary: str
    example: str
    options: str
    job: str
    operator: str | None = None
    reading_job: str | None = None


#: All kinds, in the order of the command line's list.
KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            "audit",
            "Check a table's full history against the Delta protocol",
            example="'s3://lake/**' --exclude 's3://lake/tmp/**' --baseline report.json",
            options="domain.request.check_options:AuditOptions",
            job="jobs.spark.kinds:audit",
            reading_job="jobs.audit.protocol_audit:run",
            operator="operators.audit_protocol:DeltaAuditProtocolOperator",
        ),
        Kind(
            "detail",
            "Show table metadata: schema, protocol, features, …",
            example="lake/orders --format json",
            options="domain.request.options:DetailOptions",
            job="jobs.run.table_detail:run",
            reading_job="jobs.run.table_detail:run",
            operator="operators.table_detail:DeltaTableDetailOperator",
        ),
        Kind(
            "init-spec",
            "Generate a spec from existing tables",
            example="lake/orders > orders.yaml",
            options="domain.request.migration_options:InitSpecOptions",
            job="jobs.migrations.drift:write_spec",
            reading_job="jobs.migrations.drift:write_spec",
        ),
        Kind(
            "check-row-tracking",
            "Check that row ids are unique and stable",
            example="lake/orders --level footers",
            options="domain.request.check_options:CheckRowTrackingOptions",
            job="jobs.spark.kinds:check_row_tracking",
            reading_job="jobs.row_tracking.check:run",
            operator="operators.check_row_tracking:DeltaCheckRowTrackingOperator",
        ),
        Kind(
            "column-mapping-usage",
            "Find out whether columns were ever renamed or dropped",
            example="lake/orders",
            options="domain.request.options:ColumnMappingUsageOptions",
            job="jobs.column_mapping:run",
            reading_job="jobs.column_mapping:run",
            operator="operators.column_mapping_usage:DeltaColumnMappingUsageOperator",
        ),
        Kind(
            "check-drift",
            "Compare tables with their specs",
            example="--spec tables/",
            options="domain.request.migration_options:CheckDriftOptions",
            job="jobs.migrations.drift:check_drift",
            reading_job="jobs.migrations.drift:check_drift",
            operator="operators.check_drift:DeltaCheckDriftOperator",
        ),
        Kind(
            "check-compatibility",
            "Show which engines cannot use a table, now or with more features",
            example="lake/orders --feature rowTracking --fleet fleet.yaml",
            options="domain.request.check_options:CheckCompatibilityOptions",
            job="jobs.migrations.drift:check_compatibility",
            reading_job="jobs.migrations.drift:check_compatibility",
            operator="operators.compatibility_check:DeltaCompatibilityCheckOperator",
        ),
        Kind(
            "check-retention",
            "Show which history is complete, and what a VACUUM or log clean-up would delete",
            example="lake/orders --vacuum-retain 168h --consumer lake/checkpoints/daily",
            options="domain.request.check_options:CheckRetentionOptions",
            job="jobs.run.retention:run",
            reading_job="jobs.run.retention:run",
            operator="operators.check_retention:DeltaCheckRetentionOperator",
        ),
        Kind(
            "try-engines",
            "Read tables with the engines that are installed, and compare the rows",
            example="lake/orders --with duckdb,polars",
            options="domain.request.check_options:TryEnginesOptions",
            job="jobs.migrations.try_engines:run",
            reading_job="jobs.migrations.try_engines:run",
        ),
        Kind(
            "check-paimon-row-tracking",
            "Check row tracking of Apache Paimon tables",
            example="lake/sales.db/orders",
            options="domain.request.check_options:PaimonCheckRowTrackingOptions",
            job="jobs.spark.kinds:check_paimon_table",
            reading_job="jobs.paimon.check:check_paimon_table",
            operator="operators.check_paimon_row_tracking:PaimonCheckRowTrackingOperator",
        ),
        Kind(
            "plan-migration",
            "Plan the changes that bring tables to their declared state",
            example="--spec tables/orders.yaml",
            options="domain.request.migration_options:PlanMigrationOptions",
            job="jobs.changes.kinds:plan_migration",
            reading_job="jobs.migrations.planning:run",
            operator="operators.plan_migration:DeltaPlanMigrationOperator",
        ),
        Kind(
            "apply-migration",
            "Apply a spec or an approved plan",
            example="--spec tables/orders.yaml --allow-protocol-upgrade",
            options="domain.request.migration_options:ApplyMigrationOptions",
            job="jobs.changes.kinds:apply_migration",
            operator="operators.apply_migration:DeltaApplyMigrationOperator",
        ),
        Kind(
            "plan-repair",
            "Plan the repair of damaged tables, and prove it by an audit of the result",
            example="lake/orders --format json > plan.json",
            options="domain.request.migration_options:PlanRepairOptions",
            job="jobs.repair.planning:run",
            reading_job="jobs.repair.planning:run",
            operator="operators.plan_repair:DeltaPlanRepairOperator",
        ),
        Kind(
            "apply-repair",
            "Apply a planned repair, and audit the table again",
            example="--plan plan.json",
            options="domain.request.migration_options:ApplyRepairOptions",
            job="jobs.repair.apply:run",
            operator="operators.apply_repair:DeltaApplyRepairOperator",
        ),
        Kind(
            "enable-feature",
            "Enable table features",
            example="lake/orders --feature typeWidening --allow-protocol-upgrade --dry-run",
            options="domain.request.change_options:EnableFeatureOptions",
            job="jobs.changes.kinds:enable_feature",
            operator="operators.enable_feature:DeltaEnableFeatureOperator",
        ),
        Kind(
            "widen-types",
            "Widen the types of columns",
            example="lake/orders --column quantity=bigint --dry-run",
            options="domain.request.change_options:WidenTypesOptions",
            job="jobs.changes.kinds:widen_types",
            operator="operators.widen_types:DeltaWidenTypesOperator",
        ),
        Kind(
            "alter-columns",
            "Drop, rename and add columns, in this order",
            example="lake/orders --rename qty=quantity --dry-run",
            options="domain.request.change_options:AlterColumnsOptions",
            job="jobs.changes.kinds:alter_columns",
            operator="operators.alter_columns:DeltaAlterColumnsOperator",
        ),
        Kind(
            "drop-feature",
            "Drop table features",
            example="lake/orders --feature typeWidening --dry-run",
            options="domain.request.change_options:DropFeatureOptions",
            job="jobs.changes.kinds:drop_feature",
            operator="operators.drop_feature:DeltaDropFeatureOperator",
        ),
        Kind(
            "disable-column-mapping",
            "Disable column mapping",
            example="lake/orders --dry-run",
            options="domain.request.change_options:DisableColumnMappingOptions",
            job="jobs.changes.kinds:disable_column_mapping",
            operator="operators.disable_column_mapping:DeltaDisableColumnMappingOperator",
        ),
        Kind(
            "create-table",
            "Create an empty table with usage tracking of column mapping (experimental)",
            example="lake/new --column id=bigint --acknowledge-writer-lockout",
            options="domain.request.change_options:CreateTableOptions",
            job="jobs.changes.usage_tracking:create_table",
            operator="operators.create_table:DeltaCreateTableOperator",
        ),
    )
}


def kind_named(name: str) -> Kind:
    """Return the kind with a name.

    :raises RequestError: if there is none
    """
    if name not in KINDS:
        raise RequestError(
            "There is no job kind {name!r}.{hint} Kinds: {known}.",
            name=name,
            hint=did_you_mean(name, KINDS),
            known=", ".join(KINDS),
        )
    return KINDS[name]


def load(part: str) -> Any:
    """Return a part of a kind, written as ``module:name``."""
    module, _, name = part.partition(":")
    return getattr(import_module(f"{_PACKAGE}.{module}"), name)
