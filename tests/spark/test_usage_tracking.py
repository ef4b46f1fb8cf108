"""Usage tracking of column mapping, put into the log through Delta's own log store and read by Delta Spark."""

from __future__ import annotations

import pytest

from airflow_delta_provider.domain.changes.schema import remove_mapping
from airflow_delta_provider.domain.delta.features.columns import USAGE_TRACKING
from airflow_delta_provider.domain.delta.table_properties import DROPPED_OR_RENAMED
from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.change_options import (
    CreateTableOptions,
    DisableColumnMappingOptions,
    DropFeatureOptions,
)
from airflow_delta_provider.jobs.changes.commit import LogStore
from tests.tables import log
from tests.tables.checkpoints import checkpointed
from tests.tables.protocols import legacy, modern

PASSED = (Verdict.PASS, True, ())


def outcome(report):
    return (report.verdict, report.changed, report.findings)


def rows(spark, path):
    return sorted(tuple(row) for row in spark.sql(f"SELECT * FROM delta.`{path}`").collect())


def test_table_is_tracked_mapped_and_unmapped_by_commits_of_ours_and_reads_as_before(
    spark, table, enable, audit, run_job
):
    path = table(legacy)
    before, version = rows(spark, path), log.newest(path)
    refused = enable(path, USAGE_TRACKING.name)
    assert [finding.code for finding in refused.findings] == ["RQ55"]
    assert "would be locked out: Delta Spark 4.4.0 (3 commits)" in refused.findings[0].message
    assert log.newest(path) == version

    planned = enable(path, USAGE_TRACKING.name, acknowledge_writer_lockout=True, dry_run=True)
    assert (planned.verdict, planned.changed, planned.plan["steps"][0]["sql"]) == (Verdict.PASS, False, None)
    done = enable(path, USAGE_TRACKING.name, acknowledge_writer_lockout=True, labels={"dag_id": "d"})
    assert outcome(done) == PASSED
    assert (done.version, done.protocol_after) == (version + 1, planned.protocol_after)
    assert log.configuration(path) == {DROPPED_OR_RENAMED: "false"}
    assert log.user_metadata(path, done.version) == {"dag_id": "d", "plan_digest": done.plan["digest"]}

    assert outcome(enable(path, "columnMapping")) == PASSED
    assert log.configuration(path)["delta.columnMapping.mode"] == "name"
    again = enable(path, USAGE_TRACKING.name, "columnMapping")
    assert (again.verdict, again.changed) == (Verdict.PASS, False)

    assert rows(spark, path) == before
    with pytest.raises(Exception, match="DELTA_UNSUPPORTED_FEATURES_FOR_WRITE"):
        spark.sql(f"INSERT INTO delta.`{path}` VALUES (9, 'x', NULL)")
    assert [finding.code for finding in enable(path, "appendOnly").findings] == ["RQ05"]

    unmapped = run_job([path], DisableColumnMappingOptions(), labels={"dag_id": "d"}).tables[0]
    assert outcome(unmapped) == PASSED
    assert log.configuration(path) == {DROPPED_OR_RENAMED: "false"}
    assert rows(spark, path) == before
    assert outcome(enable(path, "columnMapping")) == PASSED
    assert rows(spark, path) == before

    dropped = run_job([path], DropFeatureOptions(features=(USAGE_TRACKING.name,))).tables[0]
    assert outcome(dropped) == PASSED
    assert (
        USAGE_TRACKING.name in dropped.protocol_after["writerFeatures"],
        DROPPED_OR_RENAMED in log.configuration(path),
    ) == (
        False,
        False,
    )
    spark.sql(f"INSERT INTO delta.`{path}` VALUES (9, 'x', NULL)")
    assert rows(spark, path) == [*before, (9, "x", None)]
    assert audit(path).findings == ()


def test_log_that_begins_at_a_checkpoint_is_tracked_by_the_footers_of_its_files(spark, table, enable):
    path = table(checkpointed, kind="classic")
    before = rows(spark, path)
    shown = spark.sql(f"SHOW TBLPROPERTIES delta.`{path}`").collect()
    before_properties = {key: value for key, value in shown if ".min" not in key and ".feature." not in key}
    assert outcome(enable(path, USAGE_TRACKING.name, acknowledge_writer_lockout=True)) == PASSED
    written = log.last(path, "metaData")
    assert written["configuration"] == {**before_properties, DROPPED_OR_RENAMED: "false"}
    described = spark.sql(f"DESCRIBE DETAIL delta.`{path}`").first()
    assert (written["id"], written["partitionColumns"], written["format"]["provider"]) == (
        described["id"],
        [],
        "parquet",
    )
    assert rows(spark, path) == before


def test_column_that_was_dropped_keeps_an_unmapped_table_from_being_tracked_as_unused(spark, table, enable):
    path = table(legacy)
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    spark.sql(f"ALTER TABLE delta.`{path}` DROP COLUMN name")
    metadata = log.last(path, "metaData")
    schema, properties = remove_mapping(metadata["schemaString"])
    left = {key: value for key, value in metadata["configuration"].items() if key not in properties}
    log.commit(path, {"metaData": {**metadata, "schemaString": schema, "configuration": left}})
    refused = enable(path, USAGE_TRACKING.name, acknowledge_writer_lockout=True)
    assert [finding.code for finding in refused.findings] == ["RQ56"]
    assert "has name, not a column of the table, and 1 more file has others, too" in refused.findings[0].message
    spark.sql(f"INSERT OVERWRITE delta.`{path}` SELECT * FROM delta.`{path}`")
    assert outcome(enable(path, USAGE_TRACKING.name, acknowledge_writer_lockout=True)) == PASSED
    assert log.configuration(path)[DROPPED_OR_RENAMED] == "false"


def test_another_writer_between_reading_and_writing_is_followed_or_gives_way(spark, table, enable, monkeypatch):
    path = table(modern)
    insert = f"INSERT INTO delta.`{path}` VALUES (9, 'x', NULL)"
    change = f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('team' = 'b')"
    statements = [insert, change]
    real = LogStore.put

    def late(store, version, lines):
        if statements:
            spark.sql(statements.pop(0))
        real(store, version, lines)

    monkeypatch.setattr(LogStore, "put", late)
    version = log.newest(path)
    report = enable(path, USAGE_TRACKING.name, acknowledge_writer_lockout=True)
    assert [finding.code for finding in report.findings] == ["RQ15"], report.findings
    assert (report.verdict, report.retryable) == (Verdict.REFUSED, True)
    assert log.newest(path) == version + 2
    statements = [insert]
    assert outcome(enable(path, USAGE_TRACKING.name, acknowledge_writer_lockout=True)) == PASSED
    assert log.newest(path) == version + 4
    assert rows(spark, path)[-2:] == [(9, "x", None)] * 2


def test_error_after_delta_wrote_the_commit_is_no_failure(spark, table, enable, monkeypatch):
    path = table(legacy)
    real = LogStore.put

    def broken(store, version, lines):
        real(store, version, lines)
        real(store, version, lines)  # it is there already: FileAlreadyExistsException, of our own commit

    monkeypatch.setattr(LogStore, "put", broken)
    version = log.newest(path)
    assert outcome(enable(path, USAGE_TRACKING.name, acknowledge_writer_lockout=True)) == PASSED
    assert log.newest(path) == version + 1


def test_new_table_is_written_to_an_empty_place_and_found_again(spark, run_job, audit, enable, tmp_path):
    path = tmp_path / "new"
    columns = {"id": "bigint", "a b": "struct<x:int>", "day": "date"}

    def create(place, columns=columns, **known):
        return run_job([place], CreateTableOptions(columns=columns, partition_by=("day",), **known)).tables[0]

    assert [finding.code for finding in create(path).findings] == ["RQ55"]
    assert not path.exists()
    done = create(path, acknowledge_writer_lockout=True)
    assert (outcome(done), done.version) == (PASSED, 0)
    assert [(f.name, f.dataType.simpleString()) for f in spark.read.format("delta").load(str(path)).schema] == list(
        columns.items()
    )
    again = create(path)
    assert (again.verdict, again.changed) == (Verdict.PASS, False)
    assert [finding.code for finding in create(path, {**columns, "more": "int"}).findings] == ["RQ58"]
    assert [finding.code for finding in create(tmp_path).findings] == ["RQ58"]
    assert [finding.code for finding in create("main.new").findings] == ["RQ01"]
    assert audit(path).findings == ()
