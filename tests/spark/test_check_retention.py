"""Retention as Delta Spark knows it: the same files as its VACUUM, and streams and feeds that fail as was said."""

from __future__ import annotations

import os
import time

import pytest

from airflow_delta_provider.domain.request.check_options import CheckRetentionOptions
from tests.tables import log

_OLD = time.time() - 20 * 86_400
_CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"


@pytest.fixture
def orders(spark, tmp_path):
    """A partitioned table with change data, deletion vectors and rewritten files, and with files of nobody."""
    path = tmp_path / "orders"
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id int, day string) USING delta PARTITIONED BY (day) "
        "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"
    )
    for start in (0, 10, 20):
        spark.sql(f"INSERT INTO delta.`{path}` SELECT /*+ COALESCE(1) */ id, 'a b' FROM range({start}, {start + 10})")
    return path


@pytest.fixture
def check(run_job):
    def checked(path, **options):
        return run_job([path], CheckRetentionOptions(level="files", **options)).tables[0]

    return checked


def age(path):
    """Make all data files old, and add files that the log does not name."""
    for name in ("stray.parquet", "day=a b/stray.parquet", "_hidden.parquet", "_spark_metadata/x", ".x/y"):
        file = path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("0123456789")
    for folder, _, names in os.walk(path):
        for name in names if "_delta_log" not in folder else ():
            os.utime(os.path.join(folder, name), (_OLD, _OLD))


def dry_run(spark, path, hours=None):
    """Return the files that Delta Spark's own VACUUM would delete: it also names empty folders."""
    retain = "" if hours is None else f" RETAIN {hours} HOURS"
    found = [row[0].removeprefix("file:") for row in spark.sql(f"VACUUM delta.`{path}`{retain} DRY RUN").collect()]
    return sorted(os.path.relpath(name, path) for name in found if os.path.isfile(name))


def read_feed(spark, path, version):
    feed = spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", version)
    return feed.load(str(path)).collect()


def read_version(spark, path, version):
    return spark.read.format("delta").option("versionAsOf", version).load(str(path)).collect()


def advance(spark, path, folder, files=1000):
    """Let a stream read what is new, at most so many files per batch, and return the rows of its sink."""
    source = spark.readStream.format("delta").option("maxFilesPerTrigger", files).option("ignoreChanges", "true")
    query = source.load(str(path)).writeStream.format("delta").option("checkpointLocation", str(folder / "checkpoint"))
    query.trigger(availableNow=True).start(str(folder / "sink")).awaitTermination()
    return spark.read.format("delta").load(str(folder / "sink")).count()


@pytest.fixture
def without_check(spark):
    spark.conf.set(_CHECK, "false")
    yield
    spark.conf.unset(_CHECK)


def test_files_of_a_vacuum_are_those_of_delta_sparks_own_dry_run(spark, orders, check, without_check):
    spark.sql(f"UPDATE delta.`{orders}` SET id = id + 100 WHERE id = 5")
    spark.sql(f"ALTER TABLE delta.`{orders}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    spark.sql(f"DELETE FROM delta.`{orders}` WHERE id = 12")
    spark.sql(f"DELETE FROM delta.`{orders}` WHERE id = 13")
    spark.sql(f"OPTIMIZE delta.`{orders}`")
    age(orders)
    for hours, retain in ((None, None), (0, "0h")):
        vacuum = check(orders, vacuum_retain=retain).evidence["vacuum"]
        assert list(vacuum["paths"]) == dry_run(spark, orders, hours)
        assert vacuum["files"] >= (3 if hours is None else 8)
        assert vacuum["bytes"] == sum((orders / name).stat().st_size for name in vacuum["paths"])
        assert vacuum["unreferenced"] == 2


@pytest.mark.nightly
def test_delta_spark_follows_the_property_whatever_is_to_be_retained(spark, orders, check):
    """Why RE06 is found: RETAIN has no effect unless it is 0."""
    spark.sql(f"OPTIMIZE delta.`{orders}`")
    age(orders)
    found = dry_run(spark, orders)
    assert dry_run(spark, orders, 24) == dry_run(spark, orders, 1000) == found
    assert [finding.code for finding in check(orders, vacuum_retain="24h").findings] == ["RE06"]
    assert list(check(orders).evidence["vacuum"]["paths"]) == found


@pytest.mark.nightly
def test_history_is_complete_from_the_versions_that_are_said(spark, orders, check, without_check):
    spark.sql(f"UPDATE delta.`{orders}` SET id = id + 100 WHERE id = 5")
    spark.sql(f"INSERT INTO delta.`{orders}` VALUES (500, 'c')")
    spark.sql(f"OPTIMIZE delta.`{orders}`")
    newest = log.newest(orders)
    before = check(orders, vacuum_retain="0h").evidence
    assert (before["travel_from_version"], before["feed_from_version"]) == (0, 0)
    read_feed(spark, orders, 0)
    spark.sql(f"VACUUM delta.`{orders}` RETAIN 0 HOURS")
    after = check(orders, vacuum_retain="0h").evidence
    planned = before["vacuum"]
    for key in ("travel_from_version", "feed_from_version"):
        assert planned[key] == after[key]
    travel, feed = after["travel_from_version"], after["feed_from_version"]
    assert 0 < feed <= travel <= newest
    for first, read in ((travel, read_version), (feed, read_feed)):
        read(spark, orders, first)
        with pytest.raises(Exception, match=r"(?i)FILE_NOT_EXIST|not.?exist|cannot be found|FileNotFound"):
            read(spark, orders, first - 1)


@pytest.mark.nightly
def test_stream_that_a_vacuum_breaks_is_named_before_and_fails_after(spark, orders, check, tmp_path, without_check):
    current, behind = tmp_path / "current", tmp_path / "behind"
    for folder in (current, behind):
        advance(spark, orders, folder)
    spark.sql(f"INSERT INTO delta.`{orders}` SELECT /*+ COALESCE(1) */ id, 'a b' FROM range(100, 110)")
    assert advance(spark, orders, current) == 40
    spark.sql(f"OPTIMIZE delta.`{orders}`")
    consumers = tuple(str(folder / "checkpoint") for folder in (current, behind))

    def outcomes():
        report = check(orders, vacuum_retain="0h", consumers=consumers)
        found = [outcome["outcome"] for outcome in report.evidence["consumers"]]
        return found, [finding.code for finding in report.findings if finding.subject == consumers[1]]

    assert outcomes() == (["OK", "BROKEN_BY_VACUUM"], ["RE02"])
    spark.sql(f"VACUUM delta.`{orders}` RETAIN 0 HOURS")
    assert outcomes() == (["OK", "BROKEN"], ["RE01"])
    with pytest.raises(Exception, match="STREAM_FAILED"):
        advance(spark, orders, behind)
    assert advance(spark, orders, current) == 40


@pytest.mark.nightly
def test_stream_within_its_initial_snapshot_is_read_from_its_offsets(spark, orders, check, tmp_path):
    """A batch of one file each: the last one is done, so that the stream reads the next commit."""
    advance(spark, orders, tmp_path, files=1)
    (outcome,) = check(orders, consumers=(str(tmp_path / "checkpoint"),)).evidence["consumers"]
    assert (outcome["version"], outcome["initial"], outcome["outcome"]) == (4, False, "OK")
    for kind, kept in (("commits", 1), ("offsets", 1)):
        for file in (tmp_path / "checkpoint" / kind).iterdir():
            if file.name.isdecimal() and int(file.name) > kept:
                file.unlink()
    (outcome,) = check(orders, consumers=(str(tmp_path / "checkpoint"),)).evidence["consumers"]
    assert (outcome["version"], outcome["initial"], outcome["outcome"]) == (3, True, "OK")
