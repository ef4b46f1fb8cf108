"""All kinds of jobs, and where their parts are.

The parts are loaded when they are needed: a job imports no other kind's code, and Airflow lists the operators without
importing them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from airflow_delta_provider.domain.request.request_error import RequestError
from airflow_delta_provider.domain.suggestion import did_you_mean

_PACKAGE = "airflow_delta_provider"


@dataclass(frozen=True)
class Kind:
    """A kind of job. Its parts are written as ``module:name``, the module as seen from this package.

    :param name: its name in requests, in reports and on the command line
    :param summary: what its job does, in a sentence without its full stop
    :param job: function that does what a request asks for to one table, and reports on it; on Spark
    :param operator: that runs it; None where the command line alone does
    :param reading_job: the same as far as it only reads logs and footers, without Spark; None where nothing does
    """

    name: str
    summary: str
    options: str
    job: str
    operator: str | None = None
    reading_job: str | None = None


KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            "enable-feature",
            "Enable table features",
            options="domain.request.enable_feature:EnableFeatureOptions",
            job="jobs.changes.kinds:enable_feature",
            operator="operators.enable_feature:DeltaEnableFeatureOperator",
        ),
        Kind(
            "widen-types",
            "Widen the types of columns",
            options="domain.request.widen_types:WidenTypesOptions",
            job="jobs.changes.kinds:widen_types",
            operator="operators.widen_types:DeltaWidenTypesOperator",
        ),
        Kind(
            "alter-columns",
            "Drop, rename and add columns, in this order",
            options="domain.request.alter_columns:AlterColumnsOptions",
            job="jobs.changes.kinds:alter_columns",
            operator="operators.alter_columns:DeltaAlterColumnsOperator",
        ),
        Kind(
            "create-table",
            "Create an empty table with usage tracking of column mapping (experimental)",
            options="domain.request.create_table:CreateTableOptions",
            job="jobs.changes.create_table:create_table",
            operator="operators.create_table:DeltaCreateTableOperator",
        ),
        Kind(
            "check-row-tracking",
            "Check that row ids are unique and stable",
            options="domain.request.check_row_tracking:CheckRowTrackingOptions",
            job="jobs.spark.kinds:check_row_tracking",
            reading_job="jobs.row_tracking.check:run",
            operator="operators.check_row_tracking:DeltaCheckRowTrackingOperator",
        ),
        Kind(
            "audit",
            "Check a table's full history against the Delta protocol",
            options="domain.request.audit:AuditOptions",
            job="jobs.spark.kinds:audit",
            reading_job="jobs.audit.protocol_audit:run",
            operator="operators.audit_protocol:DeltaAuditProtocolOperator",
        ),
        Kind(
            "check-drift",
            "Check whether tables still are what is declared of them",
            options="domain.request.check_drift:CheckDriftOptions",
            job="jobs.migrations.drift:run",
            reading_job="jobs.migrations.drift:run",
            operator="operators.check_drift:DeltaCheckDriftOperator",
        ),
        Kind(
            "detail",
            "Show table metadata: schema, protocol, features, …",
            options="domain.request.detail:DetailOptions",
            job="jobs.run.table_detail:run",
            reading_job="jobs.run.table_detail:run",
            operator="operators.table_detail:DeltaTableDetailOperator",
        ),
        Kind(
            "column-mapping-usage",
            "Find out whether columns were ever renamed or dropped",
            options="domain.request.column_mapping_usage:ColumnMappingUsageOptions",
            job="jobs.column_mapping.usage:run",
            reading_job="jobs.column_mapping.usage:run",
            operator="operators.column_mapping_usage:DeltaColumnMappingUsageOperator",
        ),
        Kind(
            "init-spec",
            "Write the spec of existing tables: what declares them as they are",
            options="domain.request.init_spec:InitSpecOptions",
            job="jobs.migrations.init_spec:run",
            reading_job="jobs.migrations.init_spec:run",
        ),
        Kind(
            "check-compatibility",
            "Find out which engines a table locks out, or would lock out with more features",
            options="domain.request.check_compatibility:CheckCompatibilityOptions",
            job="jobs.migrations.compatibility:run",
            reading_job="jobs.migrations.compatibility:run",
            operator="operators.compatibility_check:DeltaCompatibilityCheckOperator",
        ),
        Kind(
            "disable-column-mapping",
            "Disable column mapping",
            options="domain.request.disable_column_mapping:DisableColumnMappingOptions",
            job="jobs.changes.kinds:disable_column_mapping",
            operator="operators.disable_column_mapping:DeltaDisableColumnMappingOperator",
        ),
        Kind(
            "drop-feature",
            "Drop table features",
            options="domain.request.drop_feature:DropFeatureOptions",
            job="jobs.changes.kinds:drop_feature",
            operator="operators.drop_feature:DeltaDropFeatureOperator",
        ),
        Kind(
            "plan-migration",
            "Plan what makes tables what is declared of them",
            options="domain.request.plan_migration:PlanMigrationOptions",
            job="jobs.migrations.planning:run",
            reading_job="jobs.migrations.planning:run",
            operator="operators.plan_migration:DeltaPlanMigrationOperator",
        ),
        Kind(
            "apply-migration",
            "Make tables what is declared of them, as planned and approved",
            options="domain.request.apply_migration:ApplyMigrationOptions",
            job="jobs.changes.kinds:apply_migration",
            operator="operators.apply_migration:DeltaApplyMigrationOperator",
        ),
        Kind(
            "check-paimon-row-tracking",
            "Check row tracking of Apache Paimon tables",
            options="domain.request.check_paimon_row_tracking:PaimonCheckRowTrackingOptions",
            job="jobs.spark.kinds:check_paimon_table",
            reading_job="jobs.paimon.check:check_paimon_table",
            operator="operators.check_paimon_row_tracking:PaimonCheckRowTrackingOperator",
        ),
    )
}


def kind_named(name: str) -> Kind:
    """Return the kind of a name.

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
    """Return a part of a kind, which is written as ``module:name``."""
    module, _, name = part.partition(":")
    return getattr(import_module(f"{_PACKAGE}.{module}"), name)
