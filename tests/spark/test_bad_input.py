from __future__ import annotations

import pytest

from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.change_options import EnableFeatureOptions, WidenTypesOptions
from tests.tables import broken_logs, log, other_formats
from tests.tables.checkpoints import checkpointed
from tests.tables.protocols import legacy

ENABLE = EnableFeatureOptions(features=("typeWidening",), allow_protocol_upgrade=True)
WIDEN = WidenTypesOptions(columns={"id": "bigint"}, enable_type_widening=True, allow_protocol_upgrade=True)


def assert_refused(report, code, *messages):
    assert (report.verdict, report.changed, report.retryable) == (Verdict.REFUSED, False, False)
    (finding,) = report.findings
    assert finding.code == code
    for message in messages:
        assert message in finding.message


@pytest.mark.parametrize("options", [ENABLE, WIDEN], ids=lambda options: options.kind)
@pytest.mark.parametrize(
    ("builder", "code", "messages"),
    [
        (broken_logs.gap, "RQ03", ("00000000000000000001.json missing", "Restore")),
        (broken_logs.truncated_last_commit, "RQ03", ("00000000000000000002.json", "truncated", "Restore")),
        (broken_logs.empty_last_commit, "RQ03", ("00000000000000000002.json is empty", "Restore")),
        (broken_logs.no_protocol, "RQ03", ("no protocol action", "Restore")),
        (broken_logs.catalog_managed, "RQ04", ("catalogManaged", "Change it through the catalog")),
        (broken_logs.unknown_reader_feature, "RQ05", ("hologram", "Use an engine that does")),
        (broken_logs.unknown_writer_feature, "RQ05", ("hologram", "Use an engine that does")),
        (other_formats.parquet_files, "RQ02", ("not a Delta table", "Name the table's own directory")),
        (other_formats.iceberg, "RQ02", ("an Apache Iceberg table",)),
        (other_formats.empty_iceberg, "RQ02", ("an Apache Iceberg table",)),
        (other_formats.paimon, "RQ02", ("an Apache Paimon table",)),
        (other_formats.empty_paimon, "RQ02", ("an Apache Paimon table",)),
        (other_formats.hudi, "RQ02", ("an Apache Hudi table",)),
        (other_formats.empty_directory, "RQ02", ("not a Delta table",)),
        (other_formats.empty_log, "RQ02", ("has a _delta_log, and no commit",)),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_table_that_cannot_be_changed_is_refused_with_the_remedy_and_stays_as_it_is(
    table, run_job, options, builder, code, messages
):
    path = table(builder)
    before = log.contents(path)
    (report,) = run_job([path], options).tables
    assert_refused(report, code, str(path), *messages)
    assert log.contents(path) == before


def test_schema_that_is_damaged_is_refused_where_the_schema_is_needed(table, run_job):
    path = table(broken_logs.damaged_schema)
    before = log.contents(path)
    assert_refused(run_job([path], WIDEN).tables[0], "RQ03", str(path), "schema", "damaged")
    assert log.contents(path) == before


def test_checkpoint_with_a_commit_missing_after_it_is_a_gap(table, run_job, spark):
    path = table(checkpointed, kind="classic")
    spark.sql(f"INSERT INTO delta.`{path}` VALUES (7)")
    log.log_file(path, 2).unlink()
    assert_refused(run_job([path], ENABLE).tables[0], "RQ03", "the newest checkpoint is of version 1")


def test_table_below_another_is_no_table(table, run_job):
    path = table(legacy)
    (path / "deeper").mkdir()
    assert_refused(run_job([path / "deeper"], ENABLE).tables[0], "RQ02", "own directory")
    assert_refused(run_job([path / "nowhere"], ENABLE).tables[0], "RQ01", f"{path}/nowhere", "Check the path")
    plain = table(other_formats.plain_files, name="f")
    assert_refused(run_job([plain], ENABLE).tables[0], "RQ02", "not a Delta table")
    assert_refused(run_job([plain / "file"], ENABLE).tables[0], "RQ01", "no such directory")
    assert not (path / "nowhere").exists()


@pytest.mark.parametrize(
    "name", ["nowhere", "nowhere.nothing", "nowhere.no.thing", "a.b.c.d", "`it``s`", "`a``; DROP TABLE x; --`"]
)
def test_name_that_no_catalog_has_is_refused(run_job, name):
    assert_refused(run_job([name], ENABLE).tables[0], "RQ01", name)


@pytest.mark.parametrize("name", ["a`; DROP TABLE x; --", "a..b", "`"])
def test_text_that_is_no_name_is_refused(run_job, name):
    assert_refused(run_job([name], ENABLE).tables[0], "RQ01", "is not a catalog name")


def test_table_of_another_format_and_a_view_in_the_catalog_are_refused(run_job, spark, tmp_path):
    spark.sql(f"CREATE TABLE other_format (`Provider` string, `Location` string) USING parquet LOCATION '{tmp_path}/p'")
    spark.sql("CREATE VIEW a_view AS SELECT 'delta' AS Provider, 'x' AS Location")
    spark.sql("CREATE TEMPORARY VIEW a_temporary_view AS SELECT 1 AS id")
    try:
        names = ["other_format", "a_view", "a_temporary_view"]
        first, second, third = run_job(names, ENABLE).tables
    finally:
        spark.sql("DROP TABLE other_format")
        spark.sql("DROP VIEW a_view")
        spark.sql("DROP VIEW a_temporary_view")
    assert_refused(first, "RQ02", "other_format is a parquet table")
    assert_refused(second, "RQ02", "a_view is a view")
    assert_refused(third, "RQ02", "a_temporary_view is a view")


@pytest.mark.parametrize(
    ("location", "named"), [("hologram://bucket/t", "hologram"), ("s3a://bucket/t", "S3AFileSystem")]
)
def test_location_that_the_session_has_no_driver_for_is_a_fault_that_no_retry_mends(run_job, location, named):
    (report,) = run_job([location], ENABLE).tables
    assert (report.verdict, report.changed, report.retryable) == (Verdict.FAULT, False, False)
    assert [finding.code for finding in report.findings] == ["FT01"]
    assert named in report.findings[0].message
    assert "add the storage's package" in report.findings[0].message


def test_one_bad_table_hides_no_other_tables_result(table, run_job, tmp_path):
    good, broken, better = table(legacy, "a"), table(broken_logs.gap, "b"), table(legacy, "c")
    lines: list[str] = []
    report = run_job([good, tmp_path / "nowhere", broken, "hologram://x/y", better], ENABLE, progress=lines.append)
    assert [t.verdict.value for t in report.tables] == ["PASS", "REFUSED", "REFUSED", "FAULT", "PASS"]
    assert [report.tables[0].table, report.tables[4].table] == [str(good), str(better)]
    assert [t.changed for t in report.tables] == [True, False, False, False, True]
    assert report.verdict is Verdict.FAULT
    assert log.protocol(better)["readerFeatures"] == ["typeWidening"]
    assert not any("Traceback" in line for line in lines)
