"""Findings recorded by Delta Lake for Spark: once per run, in the table that the package deltalake also writes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from airflow_delta_provider.domain.report.findings_table import COLUMNS, Run
from airflow_delta_provider.domain.report.report import JobReport
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.table_name import TableName
from airflow_delta_provider.jobs.changes.findings_writer import append
from airflow_delta_provider.jobs.delta.session import DeltaSession, python_session
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from tests.unit.command_line.tables import damaged, sound
from tests.unit.jobs.findings_queries import EXPECTED, QUERIES, ROWS, without_times


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    damaged(tmp_path / "bad", "AC08")
    return tmp_path


def audited(session: DeltaSession, lake: Path, attempt: str, table: str | None = None) -> JobReport:
    options = AuditOptions(findings_table=table or str(lake / "ops" / "findings"))
    labels = {"dag_id": "nightly", "run_id": "r1", "task_id": "audit", "map_index": 2}
    return run(JobRequest((str(lake / "bad"),), options, attempt=attempt, try_number=3, labels=labels), session)


def rows(session: SparkDeltaSession, table: str) -> list[dict[str, Any]]:
    found = session.spark.sql(f"SELECT * FROM {table} ORDER BY run, record").collect()
    return [row.asDict() for row in found]


def test_both_engines_append_to_one_table_and_each_run_once(session: SparkDeltaSession, lake: Path) -> None:
    here = python_session()
    for each, attempt in ((session, "a"), (here, "b"), (session, "b"), (here, "a"), (session, "a"), (session, "c")):
        assert audited(each, lake, attempt).warnings == ()

    found = rows(session, f"delta.`{lake}/ops/findings`")
    assert [(row["run"], row["record"]) for row in found] == [
        (run, kind) for run in "abc" for kind in ("finding", "table")
    ]
    assert list(found[0]) == [column.name for column in COLUMNS]
    differing = {"run", "checked_at", "seconds"}
    one, other = ({k: v for k, v in row.items() if k not in differing} for row in (found[0], found[2]))
    assert one == other
    assert (one["since"] is not None, one["map_index"], one["try_number"]) == (True, 2, 3)


def test_new_table_forgets_old_transactions(session: SparkDeltaSession, lake: Path) -> None:
    audited(session, lake, "a")
    properties = dict(map(tuple, session.spark.sql(f"SHOW TBLPROPERTIES delta.`{lake}/ops/findings`").collect()))
    assert properties["delta.setTransactionRetentionDuration"] == "interval 90 days"


def test_concurrent_runs_add_their_rows_once(session: SparkDeltaSession, lake: Path) -> None:
    # Settings of commits are those of a session, and each driver has its own.
    sessions = [SparkDeltaSession(session.spark.newSession()) for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        reports = list(pool.map(lambda each, attempt: audited(each, lake, attempt), sessions, "aabbcc"))

    assert [report.warnings for report in reports] == [()] * 6
    assert [row["run"] for row in rows(session, f"delta.`{lake}/ops/findings`")] == list("aabbcc")


def test_missing_columns_are_added(session: SparkDeltaSession, lake: Path) -> None:
    audited(session, lake, "a")
    place = str(lake / "ops" / "findings")
    old = session.spark.read.format("delta").load(place).drop("message").selectExpr("*", "1 AS own")
    old.write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(place)

    assert audited(session, lake, "b").warnings == ()

    found = rows(session, f"delta.`{place}`")
    assert [(row["own"], row["message"] is None) for row in found] == [
        (1, True),
        (1, True),
        (None, False),
        (None, True),
    ]


def test_table_of_another_shape_is_not_touched(session: SparkDeltaSession, lake: Path) -> None:
    sound(lake / "ops" / "findings")
    report = audited(session, lake, "a")
    assert "it is no table of findings" in report.warnings[0]
    assert report.verdict.value == "VIOLATED"


def test_name_in_a_catalog_is_created_and_appended_to(session: SparkDeltaSession, lake: Path) -> None:
    session.spark.sql(f"CREATE SCHEMA ops LOCATION '{lake}/ops_schema'")
    try:
        for attempt in ("a", "a", "b"):
            assert audited(session, lake, attempt, "ops.findings").warnings == ()
        assert [row["run"] for row in rows(session, "ops.findings")] == ["a", "a", "b", "b"]
        assert "not recorded in none.findings" in audited(session, lake, "a", "none.findings").warnings[0]
    finally:
        session.spark.sql("DROP SCHEMA ops CASCADE")


def test_queries_of_the_guide_run_in_spark(session: SparkDeltaSession, tmp_path: Path) -> None:
    append(session, TableName.parse(str(tmp_path / "f")), f"file:{tmp_path}/f", ROWS, Run("all", None, {}))
    session.spark.read.format("delta").load(str(tmp_path / "f")).createOrReplaceTempView("findings")
    for name, query in QUERIES.items():
        found = [without_times(name, tuple(row)) for row in session.spark.sql(query).collect()]
        assert found == EXPECTED[name], name
