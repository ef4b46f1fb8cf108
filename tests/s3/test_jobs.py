"""What jobs do to tables on S3: by Delta, by Hadoop's S3A, by a real server."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from airflow_delta_provider.domain.report.report import TableReport, Verdict
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
    CheckRowTrackingOptions,
    PaimonCheckRowTrackingOptions,
)
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.options import ColumnMappingUsageOptions, DetailOptions, Options
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from tests.every_kind import CHANGES

Job = Callable[[Options, str], TableReport]
LAKE = "s3a://lake"


@pytest.fixture(scope="module")
def orders(session: SparkDeltaSession) -> str:
    """Return a table with row tracking and deletion vectors, in partitions whose names need to be encoded."""
    table = f"{LAKE}/orders"
    session.sql(
        f"CREATE TABLE delta.`{table}` (id int, q int, place string) USING delta PARTITIONED BY (place) TBLPROPERTIES "
        "('delta.enableDeletionVectors' = 'true', 'delta.enableRowTracking' = 'true')"
    )
    for first in range(0, 120, 10):
        session.sql(f"INSERT INTO delta.`{table}` SELECT id, id, 'Groß/a b' FROM range({first}, {first + 10}, 1, 1)")
    session.sql(f"DELETE FROM delta.`{table}` WHERE id % 10 = 3")
    session.sql(f"UPDATE delta.`{table}` SET q = 5 WHERE id % 10 = 4")
    return table


def passes(report: TableReport) -> bool:
    return (report.verdict, report.findings) == (Verdict.PASS, ())


def test_history_is_judged_and_then_what_is_new(session: SparkDeltaSession, job: Job, orders: str) -> None:
    options = AuditOptions(level="data", state_path=f"{LAKE}/state")
    report = job(options, orders)
    assert passes(report)
    assert report.evidence is not None
    assert (report.version, report.evidence["commits"]) == (14, 15)
    session.sql(f"INSERT INTO delta.`{orders}` VALUES (1000, 1, 'here')")
    again = job(options, orders)
    assert passes(again)
    assert again.evidence is not None
    assert (again.version, again.evidence["commits"]) == (15, 1)


def test_row_ids_are_proven_unique_and_stable(job: Job, orders: str) -> None:
    assert passes(job(CheckRowTrackingOptions(), orders))
    assert passes(job(CheckRowTrackingOptions(compare_to_version=12, key_columns=("id",)), orders))


def test_types_are_widened_and_features_come_and_go(session: SparkDeltaSession, job: Job, orders: str) -> None:
    had = session.sql(f"SELECT * FROM delta.`{orders}` ORDER BY id")
    enabled = EnableFeatureOptions(features=("typeWidening",), allow_protocol_upgrade=True, allow_unsafe_log_store=True)
    assert passes(job(enabled, orders))
    assert passes(job(WidenTypesOptions(columns={"q": "bigint"}, allow_unsafe_log_store=True), orders))
    dropped = DropFeatureOptions(
        features=("typeWidening",),
        allow_rewrite=True,
        allow_protocol_upgrade=True,
        acknowledge_history_loss=True,
        allow_unsafe_log_store=True,
    )
    assert passes(job(dropped, orders))
    assert session.sql(f"SELECT * FROM delta.`{orders}` ORDER BY id") == had
    assert passes(job(AuditOptions(level="data"), orders))


def test_mapping_goes_and_a_commit_of_ours_asks_whether_others_write(session: SparkDeltaSession, job: Job) -> None:
    table = f"{LAKE}/mapped"
    session.sql(f"CREATE TABLE delta.`{table}` (a int, b int) USING delta")
    session.sql(f"INSERT INTO delta.`{table}` VALUES (1, 2)")
    session.sql(f"ALTER TABLE delta.`{table}` SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    session.sql(f"INSERT INTO delta.`{table}` VALUES (3, 4)")
    usage = job(ColumnMappingUsageOptions(), table).usage
    assert usage is not None
    assert usage["answer"] == "UNUSED"
    assert passes(job(DisableColumnMappingOptions(verify="full", allow_unsafe_log_store=True), table))
    tracked = {"features": ("columnMappingUsageTracking",), "allow_special": True, "allow_protocol_upgrade": True}
    assert passes(job(AlterColumnsOptions(add={"c": "int"}, allow_unsafe_log_store=True), table))

    refused = job(EnableFeatureOptions(**tracked, acknowledge_writer_lockout=True), table)
    assert refused.verdict is Verdict.REFUSED
    assert [finding.code for finding in refused.findings] == ["RQ41"]
    mine = {"acknowledge_writer_lockout": True, "allow_unsafe_log_store": True}
    assert passes(job(EnableFeatureOptions(**tracked, **mine), table))
    assert passes(job(AlterColumnsOptions(add={"d": "int"}, allow_unsafe_log_store=True), table))
    assert [row.asDict() for row in session.sql(f"SELECT * FROM delta.`{table}` ORDER BY a")] == [
        {"a": 1, "b": 2, "c": None, "d": None},
        {"a": 3, "b": 4, "c": None, "d": None},
    ]


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize("options", CHANGES, ids=lambda options: options.kind)
def test_no_change_is_made_where_two_writers_may_both_win(
    session: SparkDeltaSession, options: Options, dry_run: bool
) -> None:
    table = f"{LAKE}/plain"
    session.sql(
        f"CREATE TABLE IF NOT EXISTS delta.`{table}` (quantity int) USING delta TBLPROPERTIES "
        "('delta.columnMapping.mode' = 'name', 'delta.feature.checkConstraints' = 'supported')"
    )
    name = f"{LAKE}/new" if isinstance(options, CreateTableOptions) else table
    (report,) = run(JobRequest((name,), options, dry_run=dry_run), session).tables
    assert (report.verdict, report.changed) == (Verdict.REFUSED, False)
    assert [finding.code for finding in report.findings] == ["RQ41"]


def test_tables_are_found_by_a_pattern(session: SparkDeltaSession, orders: str) -> None:
    report = run(JobRequest((f"{LAKE}/ord*",), DetailOptions()), session)
    assert [table.table for table in report.tables] == [orders]


@pytest.mark.parametrize("level", ["metadata", "data"])
def test_paimons_rows_are_judged_and_then_what_is_new(job: Job, paimon_table: str, level: str) -> None:
    options = PaimonCheckRowTrackingOptions(level=level, state_path=f"{LAKE}/paimon-state-{level}")
    assert passes(job(options, paimon_table))
    assert passes(job(options, paimon_table))
