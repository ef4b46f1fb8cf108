"""Leaving column mapping, and telling whether it was used: real tables, other writers in between."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from airflow_delta_provider.domain.report.report import TableReport, Verdict
from airflow_delta_provider.domain.request.change_options import DisableColumnMappingOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.options import ColumnMappingUsageOptions
from airflow_delta_provider.jobs.changes.disable_mapping import DisableMappingByEngine
from airflow_delta_provider.jobs.changes.engine_transaction import EngineTransaction
from airflow_delta_provider.jobs.changes.table_change import TableChange
from airflow_delta_provider.jobs.process import silent
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.session import configured
from tests.tables import log
from tests.tables.delta_rs import rows_by_delta_rs
from tests.tables.unmapping import ROWS, created_mapped, dropped, mapped_late, small

KEYS = "delta.columnMapping"
Disable = Callable[..., TableReport]


@pytest.fixture
def disable(run_job: Callable[..., Any]) -> Disable:
    def disable_one(path: Path, *, dry_run: bool = False, **options: Any) -> TableReport:
        report: TableReport = run_job([path], DisableColumnMappingOptions(**options), dry_run=dry_run).tables[0]
        return report

    return disable_one


@pytest.fixture
def usage(run_job: Callable[..., Any]) -> Callable[[Path], dict[str, Any]]:
    def usage_of(path: Path) -> dict[str, Any]:
        (report,) = run_job([path], ColumnMappingUsageOptions()).tables
        assert report.verdict is (Verdict.UNDETERMINED if report.usage["answer"] == "UNDETERMINED" else Verdict.PASS)
        return dict(report.usage)

    return usage_of


def rows(spark: SparkSession, path: Path, version: int | None = None) -> list[str]:
    at = "" if version is None else f" VERSION AS OF {version}"
    found = spark.sql(f"SELECT * FROM delta.`{path}`{at}").collect()
    return sorted(str(row.asDict(recursive=True)) for row in found)


def data_files(path: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in path.rglob("*.parquet") if "_delta_log" not in file.parts}


def codes(report: TableReport) -> list[str]:
    return [finding.code for finding in report.findings]


def test_mapping_goes_in_one_commit_that_touches_no_data_and_everything_reads_as_before(
    table: Callable[..., Path], disable: Disable, usage: Any, audit: Any, spark: SparkSession
) -> None:
    path = table(mapped_late)
    before, files, version = rows(spark, path), data_files(path), log.newest(path)
    told = usage(path)
    assert told["answer"] == "USED"  # what was renamed was renamed, there and back or not
    assert [(e["column"], e["renamed_to"]) for e in told["evidence"]] == [("`a.b`", "other"), ("s.x", "s.other")]
    metadata = log.last(path, "metaData")

    planned = disable(path, dry_run=True)
    report = disable(path, verify="full")
    assert (report.verdict, report.findings, report.version) == (Verdict.PASS, (), version + 1)
    assert planned.plan is not None
    assert planned.plan["steps"] == [
        {
            "sql": None,
            "explanation": "disable column mapping in the metadata without rewriting data, as the history proves safe "
            "(1 commit)",
        }
    ]
    assert any("keeps columnMapping" in note for note in planned.plan["notes"])
    actions = log.commits(path)[version + 1]
    assert [next(iter(action)) for action in actions] == ["commitInfo", "metaData"]
    assert actions[0]["commitInfo"]["operation"] == "REMOVE COLUMN MAPPING"
    assert KEYS not in json.dumps(actions[1])
    assert {**actions[1]["metaData"], "schemaString": "", "configuration": {}} == {
        **metadata,
        "schemaString": "",
        "configuration": {},
    }
    assert data_files(path) == files
    assert rows(spark, path) == before == rows(spark, path, version)
    assert codes(audit(path, level="footers")) == []

    spark.sql(f"INSERT INTO delta.`{path}` {ROWS} FROM range(16, 20)")
    spark.sql(f"ALTER TABLE delta.`{path}` ADD COLUMN other STRING")
    after = spark.sql(f"SELECT count(*), count(other), count(`a.b`), sum(s.x) FROM delta.`{path}`").first()
    assert after == (20, 0, 13, sum(n for n in range(20) if n % 4))
    again = disable(path)
    assert (again.verdict, again.changed, again.plan["steps"]) == (Verdict.PASS, False, [])


@pytest.mark.nightly
def test_another_reader_finds_every_row_before_and_after(
    table: Callable[..., Path], disable: Disable, spark: SparkSession
) -> None:
    path = table(mapped_late)
    before = rows(spark, path)
    assert sorted(map(str, rows_by_delta_rs(path))) == before
    assert disable(path).changed
    assert sorted(map(str, rows_by_delta_rs(path))) == before


@pytest.mark.nightly
def test_dropped_columns_never_come_back(
    table: Callable[..., Path],
    disable: Disable,
    usage: Any,
    audit: Any,
    spark: SparkSession,
    session: SparkDeltaSession,
) -> None:
    path = table(dropped)
    before, contents = rows(spark, path), log.contents(path)
    assert [e["column"] for e in usage(path)["evidence"] if e["kind"] == "dropped"] == ["b", "s.y"]
    refused = disable(path)
    assert refused.verdict is Verdict.REFUSED
    assert codes(refused) == ["UM03", "UM07"]
    assert "has s.y, b" in refused.findings[0].message
    assert codes(disable(path, strategy="metadata-only")) == ["UM03"]
    assert log.contents(path) == contents

    spark.sql(f"OPTIMIZE delta.`{path}`")
    spark.sql(f"UPDATE delta.`{path}` SET a = a WHERE a = 1")
    assert "__is_cdc" in column_names(path)
    forget_history(path, session)
    told = usage(path)
    assert (told["answer"], told["unknown_before"]) == ("UNDETERMINED", log.newest(path))
    report = disable(path, strategy="metadata-only")
    assert (report.verdict, report.findings) == (Verdict.PASS, ())
    assert "the footers of all live files prove safe" in report.plan["steps"][0]["explanation"]
    assert rows(spark, path) == before
    assert codes(audit(path, level="footers", since_version=report.version_before)) == []
    spark.sql(f"ALTER TABLE delta.`{path}` ADD COLUMNS (b STRING, s.y STRING)")
    found = spark.sql(f"SELECT count(*), count(b), count(s.y), sum(a), sum(s.x) FROM delta.`{path}`").first()
    assert found == (6, 0, 0, 15, 15)


def column_names(path: Path) -> set[str]:
    """Return the columns of the newest data file."""
    return set(pq.read_schema(path / unquote(log.last(path, "add")["path"])).names)


def forget_history(path: Path, session: SparkDeltaSession) -> None:
    """Write a checkpoint and clean up the commits before it."""
    jvm: Any = session.spark._jvm
    delta_log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(session.spark._jsparkSession, str(path))
    none = getattr(getattr(jvm.scala, "None$"), "MODULE$")
    delta_log.checkpoint(delta_log.update(False, none, none), none)
    for version in range(log.newest(path)):
        log.log_file(path, version).unlink()


def test_rewrite_is_told_beforehand_and_done_by_the_engine_where_it_is_allowed(
    table: Callable[..., Path], disable: Disable, audit: Any, spark: SparkSession
) -> None:
    path = table(small)
    spark.sql(f"ALTER TABLE delta.`{path}` RENAME COLUMN b TO c")
    before, contents = rows(spark, path), log.contents(path)
    refused = disable(path)
    assert codes(refused) == ["UM02", "UM07"]
    assert "rewrite 1 data file (" in refused.findings[1].message
    assert log.contents(path) == contents
    report = disable(path, allow_rewrite=True)
    assert (report.verdict, report.findings) == (Verdict.PASS, ())
    assert report.plan["steps"][0]["explanation"].startswith("rewrite 1 data file (")
    assert rows(spark, path) == before
    assert codes(audit(path, level="footers")) == []


RENAME = "ALTER TABLE {table} RENAME COLUMN b TO c"
RESTORE = "RESTORE TABLE {table} TO VERSION AS OF 2"
APPEND = "INSERT INTO {table} VALUES (9, 'new')"


def change(session: SparkDeltaSession, path: Path, kind: type[DisableMappingByEngine]) -> TableReport:
    request = JobRequest((str(path),), DisableColumnMappingOptions())
    table = session.open_table(str(path))
    return TableChange(session, table, lambda _: kind, request, silent, needs_files=True).run()


def raced(session: SparkDeltaSession, path: Path, before: str = "", after: str = "") -> TableReport:
    """Let another writer in just before, or just after, the transaction starts."""

    class Raced(DisableMappingByEngine):
        def start(self) -> EngineTransaction:
            self._let_in(before)
            transaction = super().start()
            self._let_in(after)
            return transaction

        def _let_in(self, statement: str) -> None:
            with configured(self.session.spark, {"spark.databricks.delta.commitInfo.userMetadata": "another writer"}):
                if statement:
                    self.session.sql(statement.format(table=self.table.name.sql))

    return change(session, path, Raced)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("writers", "column", "count"),
    [({"before": RENAME}, "c", 4), ({"after": RENAME}, "c", 4), ({"after": RESTORE}, "b", 3)],
)
def test_rename_or_restore_by_another_writer_is_not_lost(
    table: Callable[..., Path],
    session: SparkDeltaSession,
    spark: SparkSession,
    writers: dict[str, str],
    column: str,
    count: int,
) -> None:
    path = table(small)
    spark.sql(APPEND.format(table=f"delta.`{path}`"))
    report = raced(session, path, **writers)
    assert (report.verdict, report.changed, codes(report)[0]) == (Verdict.REFUSED, False, "RQ15")
    assert report.retryable == (len(report.findings) == 1), "a retry can succeed unless the request is refused by now"
    assert log.configuration(path)["delta.columnMapping.mode"] == "name"
    assert spark.sql(f"SELECT count({column}) FROM delta.`{path}`").first() == (count,)


def test_mapping_of_an_empty_table_goes_and_no_row_slips_in_under_the_names_that_it_had(
    table: Callable[..., Path], session: SparkDeltaSession, spark: SparkSession, audit: Any
) -> None:
    path = table(created_mapped)
    report = raced(session, path, after=APPEND)
    assert (report.verdict, report.changed, codes(report)[0]) == (Verdict.REFUSED, False, "RQ15")
    assert "other names in data files" in report.findings[0].message
    assert rows(spark, path) == 2 * ["{'a': 9, 'b': 'new'}"]  # one before each of two tries
    spark.sql(f"DELETE FROM delta.`{path}`")
    report = raced(session, path)
    assert (report.verdict, report.findings, report.version) == (Verdict.PASS, (), log.newest(path))
    assert "while there is no data file" in report.plan["steps"][0]["explanation"]
    spark.sql(f"INSERT INTO delta.`{path}` VALUES (1, 'unmapped')")
    assert rows(spark, path) == ["{'a': 1, 'b': 'unmapped'}"]
    assert rows(spark, path, 1) == ["{'a': 9, 'b': 'new'}"]
    assert codes(audit(path, level="footers")) == []


def test_another_table_at_the_same_place_is_left_alone(table: Callable[..., Path], session: SparkDeltaSession) -> None:
    path = table(small)

    class Replaced(DisableMappingByEngine):
        def start(self) -> EngineTransaction:
            with log.rewritten(path, log.newest(path)) as actions:
                next(action for action in actions if "metaData" in action)["metaData"]["id"] = "another"
            return super().start()

    report = change(session, path, Replaced)
    assert (report.verdict, report.changed, codes(report)) == (Verdict.REFUSED, False, ["RQ15"])
    assert "It is another table than it was" in report.findings[0].message


def test_rows_that_others_append_meanwhile_are_kept(
    table: Callable[..., Path], session: SparkDeltaSession, spark: SparkSession, audit: Any
) -> None:
    path = table(small)
    version = log.newest(path)
    report = raced(session, path, before=APPEND, after=APPEND)
    assert (report.verdict, report.findings, report.changed) == (Verdict.PASS, (), True)
    assert (report.version_before, report.version) == (version, version + 3)
    assert spark.sql(f"SELECT count(*), count(b) FROM delta.`{path}`").first() == (5, 5)
    assert codes(audit(path, level="footers")) == []
