"""Features dropped from real tables: what it costs, what stays behind, and what has to wait."""

from __future__ import annotations

import json
import os
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from airflow_delta_provider.domain.changes.step import size_text
from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.change_options import DropFeatureOptions
from tests.tables import log
from tests.tables.protocols import legacy


@pytest.fixture
def drop(run_job):
    def drop_from(path, *features, dry_run=False, labels=None, **options):
        return run_job([path], DropFeatureOptions(features=features, **options), dry_run=dry_run, labels=labels).tables[
            0
        ]

    return drop_from


def widened(spark, path, **properties):
    """Two files with an int, widened to bigint, and one after; with row ids."""
    properties = {"delta.enableTypeWidening": "true", "delta.enableRowTracking": "true", **properties}
    texts = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
    spark.sql(f"CREATE TABLE delta.`{path}` (id int, q int) USING delta TBLPROPERTIES ({texts})")
    for first in (0, 10, 20):
        if first == 20:
            spark.sql(f"ALTER TABLE delta.`{path}` ALTER COLUMN q TYPE bigint")
        spark.sql(f"INSERT INTO delta.`{path}` SELECT /*+ COALESCE(1) */ id, id FROM range({first}, {first + 10})")


def rows(spark, path, *more):
    read = spark.read.format("delta").load(str(path)).select("id", "q", *more)
    return sorted(map(tuple, read.collect()))


def codes(report):
    return [finding.code for finding in report.findings]


def age(path: Path, minutes: int) -> None:
    """Make the files of the log older."""
    for file in path.joinpath("_delta_log").iterdir():
        time = file.stat().st_mtime - 60 * minutes
        os.utime(file, (time, time))


def test_features_are_refused_until_all_that_it_costs_is_allowed_and_then_dropped_and_row_ids_are_kept(
    spark, tmp_path, drop
):
    path = tmp_path / "t"
    widened(spark, path)
    log.commit(path, {"commitInfo": {"operation": "WRITE", "engineInfo": "delta-rs:0.30.0"}})
    before, had = log.contents(path), rows(spark, path, "_metadata.row_id")

    refused = drop(path, "typewidening")
    assert (refused.verdict, codes(refused)) == (Verdict.REFUSED, ["RQ09", "RQ32"])
    upgrade, rewrite = (finding.message for finding in refused.findings)
    assert "Recent writers that would be locked out: delta-rs 0.30.0." in upgrade
    assert "Trino" in upgrade
    old = {file["path"]: file["size"] for v in (1, 2) for a in log.commits(path)[v] if (file := a.get("add"))}
    assert f"rewrites 2 data files ({size_text(sum(old.values()))})" in rewrite
    planned = drop(path, "typeWidening", dry_run=True, allow_protocol_upgrade=True, allow_rewrite=True)
    assert (planned.verdict, planned.changed) == (Verdict.PASS, False)
    assert log.contents(path) == before

    done = drop(path, "typeWidening", allow_protocol_upgrade=True, allow_rewrite=True, labels={"run_id": "r1"})
    assert (done.verdict, done.findings, done.changed) == (Verdict.PASS, (), True)
    assert log.protocol(path) == planned.protocol_after == done.protocol_after
    assert "checkpointProtection" in done.protocol_after["writerFeatures"]
    assert done.version == done.version_before + planned.plan["commits"]
    assert all(log.user_metadata(path, v)["run_id"] == "r1" for v in range(done.version_before + 1, done.version + 1))
    assert "delta.typeChanges" not in log.last(path, "metaData")["schemaString"]
    assert rows(spark, path, "_metadata.row_id") == had

    again = drop(path, "typeWidening")
    assert (again.verdict, again.changed, again.plan["steps"]) == (Verdict.PASS, False, [])

    kept = drop(path, "rowTracking", "domainMetadata")
    assert (kept.verdict, codes(kept)) == (Verdict.REFUSED, ["RQ34"])
    gone = drop(path, "domainMetadata", "rowTracking", acknowledge_row_id_loss=True)
    assert (gone.verdict, gone.findings) == (Verdict.PASS, ())
    assert log.protocol(path)["writerFeatures"] == ["appendOnly", "checkpointProtection", "invariants"]
    assert rows(spark, path) == [row[:2] for row in had]


def test_history_is_truncated_in_a_second_run_at_the_time_that_the_first_one_names(spark, tmp_path, drop):
    path = tmp_path / "t"
    widened(spark, path, **{"delta.dropFeatureTruncateHistory.retentionDuration": "interval 2 hours"})
    had = rows(spark, path)
    asked = {"truncate_history": True, "allow_rewrite": True, "acknowledge_history_loss": True}
    refused = drop(path, "typeWidening", **{**asked, "acknowledge_history_loss": False})
    assert (refused.verdict, codes(refused)) == (Verdict.REFUSED, ["RQ33"])

    first = drop(path, "typeWidening", **asked)
    assert (first.verdict, first.changed, codes(first)) == (Verdict.UNDETERMINED, True, ["TF24"])
    assert "typeWidening" in log.protocol(path)["readerFeatures"]
    # The commit before the checkpoint that the first run wrote, to the next full minute, and the two hours.
    written = datetime.fromtimestamp(log.log_file(path, first.version - 1).stat().st_mtime, timezone.utc)
    whole = written.replace(second=0, microsecond=0) + timedelta(minutes=1)
    assert first.earliest == first.findings[0].earliest
    assert first.earliest == (whole + timedelta(hours=2)).isoformat(timespec="milliseconds")

    before = log.contents(path)
    early = drop(path, "typeWidening", **asked)
    assert (early.verdict, early.changed, early.earliest) == (Verdict.UNDETERMINED, False, first.earliest)
    assert log.contents(path) == before

    age(path, minutes=122)
    done = drop(path, "typeWidening", **asked)
    assert (done.verdict, done.findings, done.earliest) == (Verdict.PASS, (), None)
    assert log.protocol(path) == done.protocol_after
    assert not {"typeWidening", "checkpointProtection"} & {*done.protocol_after["writerFeatures"]}
    assert min(log.commits(path)) > first.version_before
    assert rows(spark, path) == had


@pytest.mark.parametrize(
    ("features", "options", "code", "says"),
    [
        (("typeWidning",), {}, "RQ06", "Did you mean 'typeWidening'"),
        (("appendOnly",), {}, "RQ30", "Set delta.appendOnly to false"),
    ],
)
def test_request_that_is_wrong_is_refused_and_nothing_changes(table, drop, features, options, code, says):
    path = table(legacy)
    before = log.contents(path)
    report = drop(path, *features, **options)
    assert (report.verdict, codes(report)) == (Verdict.REFUSED, [code])
    assert says in report.findings[0].message
    assert log.contents(path) == before


@pytest.mark.soak
def test_every_feature_that_can_be_dropped_goes_and_leaves_what_the_plan_says(spark, tmp_path, drop):
    path = tmp_path / "t"
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id int, q int, gone int) USING delta TBLPROPERTIES ("
        "'delta.enableDeletionVectors' = 'true', 'delta.columnMapping.mode' = 'name', "
        "'delta.enableInCommitTimestamps' = 'true', 'delta.checkpointPolicy' = 'v2', "
        "'delta.feature.vacuumProtocolCheck' = 'supported', "
        "'delta.feature.checkConstraints' = 'supported', 'delta.enableMaterializePartitionColumnsFeature' = 'true')"
    )
    for first in (0, 10):
        spark.sql(f"INSERT INTO delta.`{path}` SELECT /*+ COALESCE(1) */ id, id, id FROM range({first}, {first + 10})")
    spark.sql(f"ALTER TABLE delta.`{path}` DROP COLUMN gone")
    spark.sql(f"INSERT INTO delta.`{path}` SELECT /*+ COALESCE(1) */ id, id FROM range(20, 30)")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id = 25")
    had = rows(spark, path)
    spark.sql(f"ALTER TABLE delta.`{path}` ADD CONSTRAINT c CHECK (id >= 0)")
    in_use = drop(path, "checkConstraints")
    assert (in_use.verdict, codes(in_use)) == (Verdict.REFUSED, ["RQ31"])
    spark.sql(f"ALTER TABLE delta.`{path}` DROP CONSTRAINT c")
    features = ("checkConstraints", "materializePartitionColumns", "inCommitTimestamp", "vacuumProtocolCheck")
    for asked in (features, ("v2Checkpoint",), ("deletionVectors",), ("columnMapping",)):
        refused = drop(path, *asked, allow_protocol_upgrade=True)
        done = drop(path, *asked, allow_protocol_upgrade=True, allow_rewrite=True)
        assert (done.verdict, done.findings) == (Verdict.PASS, ())
        assert log.protocol(path) == done.protocol_after
        removed = sum(
            "remove" in a
            for v in range(done.version_before + 1, done.version + 1)
            for a in log.commits(path)[v]
            if not _is_tombstones(log.commits(path)[v])
        )
        told = [json.dumps(finding.message) for finding in refused.findings if finding.code == "RQ32"]
        assert (f"rewrites {removed} data file" in "".join(told)) == bool(removed)
        assert rows(spark, path) == had
    assert log.protocol(path)["writerFeatures"] == ["appendOnly", "checkpointProtection", "invariants"]


def _is_tombstones(actions):
    return any(a.get("commitInfo", {}).get("operation") == "Deletion Vector Tombstones" for a in actions)
