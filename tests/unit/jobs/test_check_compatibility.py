"""The job that says which engines a table locks out: on logs on disk, without Spark."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.check_options import CheckCompatibilityOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.option import Days
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.migrations import drift
from airflow_delta_provider.jobs.run.runner import run

SPARK = {"engineInfo": "Apache-Spark/4.2.0 Delta-Lake/4.4.0"}
RUST = {"engineInfo": "delta-rs:py-1.4.0", "clientVersion": "delta-rs.py-1.4.0"}
OWN = {"engineInfo": "airflow-delta-provider/0.1.0"}
SCHEMA = {"type": "struct", "fields": [{"name": "q", "type": "integer", "nullable": True, "metadata": {}}]}
DAY = 86_400_000


def protocol(*features):
    if not features:
        return {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
    return {"protocol": {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": list(features)}}


METADATA = {
    "metaData": {
        "id": "11111111-1111-4111-8111-111111111111",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(SCHEMA),
        "partitionColumns": [],
        "configuration": {},
        "createdTime": 1,
    }
}


class Log:
    """A table whose commits were made some days ago."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "_delta_log").mkdir(parents=True)
        self.version = -1

    def commit(self, days_ago, signature, *actions):
        self.version += 1
        made = int(time.time() * 1000 - days_ago * DAY)
        info = {"commitInfo": {"timestamp": made, "operation": "WRITE", **signature}}
        file = self.path / "_delta_log" / f"{self.version:020d}.json"
        file.write_text("".join(json.dumps(action) + "\n" for action in (info, *actions)))
        return self

    def check(self, **options):
        request = JobRequest((str(self.path),), CheckCompatibilityOptions(**options))
        (table,) = run(request, python_session()).tables
        return table


@pytest.fixture
def log(tmp_path):
    return Log(tmp_path / "t").commit(30, SPARK, protocol(), METADATA)


def told(table):
    return [(finding.code, finding.severity.value, finding.subject) for finding in table.findings]


def test_writers_of_the_last_days_are_counted_and_judged_by_what_is_added(log):
    for age in (6, 5, 4):
        log.commit(age, RUST)
    log.commit(1, SPARK).commit(1, OWN)
    table = log.check(features=("rowTracking",))
    assert (table.verdict, told(table)) == (Verdict.VIOLATED, [("CP02", "ERROR", "delta-rs 1.4.0")])
    assert "wrote 3 commits in the last 7 days, most recently version 3" in table.findings[0].message
    assert [(writer["engine"], writer["commits"]) for writer in table.evidence["writers"]] == [
        ("Delta Spark 4.4.0", 1),
        ("delta-rs 1.4.0", 3),
    ]
    assert log.check().verdict is Verdict.PASS
    few = log.check(features=("rowTracking",), days=2)
    assert (few.verdict, told(few)) == (Verdict.PASS, [])


@pytest.mark.parametrize("wrong", [[900], [900] * 5, [20_000], [-900], [-900, 900]], ids=str)
def test_commits_with_a_wrong_time_do_not_hide_the_recent_writers_before_them(log, wrong):
    for age in (2, 2, 1):
        log.commit(age, RUST)
    for days_ago in wrong:
        log.commit(days_ago, RUST)
    table = log.check(features=("rowTracking",))
    assert told(table) == [("CP02", "ERROR", "delta-rs 1.4.0")]
    assert [(writer["engine"], writer["commits"]) for writer in table.evidence["writers"]] == [
        ("delta-rs 1.4.0", 3 + len(wrong))
    ]


def test_a_writer_of_the_last_days_is_found_behind_its_own_wrong_clock_and_others(log):
    log.commit(3, RUST).commit(900, RUST).commit(2, SPARK)
    commits = {writer["engine"]: writer["commits"] for writer in log.check().evidence["writers"]}
    assert commits == {"Delta Spark 4.4.0": 1, "delta-rs 1.4.0": 2}


def test_an_old_commit_that_claims_to_be_from_the_future_is_as_old_as_those_after_it(log):
    log.commit(-900, RUST).commit(25, SPARK).commit(2, SPARK)
    assert [writer["engine"] for writer in log.check().evidence["writers"]] == ["Delta Spark 4.4.0"]


def test_an_engine_that_an_upgrade_has_locked_out_is_found_and_one_that_wrote_since_is_not(log):
    log.commit(5, RUST).commit(4, {"clusterId": "trino-470-n"})
    log.commit(3, SPARK, protocol("appendOnly", "invariants", "domainMetadata", "rowTracking"))
    table = log.check()
    assert told(table) == [("CP02", "ERROR", "Trino 470"), ("CP02", "ERROR", "delta-rs 1.4.0")]
    log.commit(1, RUST)
    assert told(log.check()) == [("CP02", "ERROR", "Trino 470")]


def test_engines_that_do_not_sign_and_damaged_commits_do_not_break_it(log):
    log.commit(3, {}).commit(2, {"engineInfo": "Acme"})
    damaged = log.commit(1, RUST).path / "_delta_log" / f"{log.version:020d}.json"
    damaged.write_text('{"commitInfo"')
    table = log.check()
    assert table.verdict in (Verdict.REFUSED, Verdict.UNDETERMINED)  # the log itself cannot be read
    damaged.unlink()
    table = log.check()
    assert (table.verdict, told(table)) == (Verdict.PASS, [("CP05", "WARNING", "Acme"), ("CP05", "WARNING", None)])
    table = log.check(features=("rowTracking",))
    assert table.verdict is Verdict.UNDETERMINED


@pytest.mark.parametrize(("days", "said"), [(3.5, "3.5 days"), (1.0, "1 day"), (7.0, "7 days")])
def test_days_may_be_fractions(log, days, said):
    log.commit(0.5, RUST)
    (finding,) = log.check(features=("rowTracking",), days=days).findings
    assert f"wrote 1 commit in the last {said}" in finding.message
    assert (
        f"no writer of the last {said}"
        in Log(log.path / "new")
        .commit(900, SPARK, protocol(), METADATA)
        .check(features=("rowTracking",), days=days)
        .findings[0]
        .message
    )


def test_days_of_a_template_may_be_a_fraction():
    days = Days()
    assert [days.rendered("days", text) for text in ("3.5", " 7 ", "1e1", 3.5, 7)] == [3.5, 7, 10.0, 3.5, 7]
    for wrong in ("", "nan", "inf", "-1", "soon", None, True):
        with pytest.raises(RequestError, match="days"):
            days.rendered("days", wrong)


def test_a_change_of_a_table_that_nobody_is_known_to_use_is_undetermined(log):
    assert told(log.check(features=("rowTracking",))) == [("CP09", "UNDECIDED", None)]
    assert log.check().verdict is Verdict.PASS


def test_a_log_that_was_cleaned_up_within_the_days_is_said(log, tmp_path):
    for age in (5, 4, 3):
        log.commit(age, SPARK)
    names = sorted((log.path / "_delta_log").glob("*.json"))
    checkpoint = log.path / "_delta_log" / f"{2:020d}.checkpoint.parquet"
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [json.loads(line) for line in names[0].read_text().splitlines()][1:]
    metadata = dict(rows[1]["metaData"])
    metadata["configuration"] = []
    pq.write_table(
        pa.Table.from_pylist(
            [{"protocol": rows[0]["protocol"], "metaData": None}, {"protocol": None, "metaData": metadata}],
            schema=pa.schema(
                [
                    ("protocol", pa.struct([("minReaderVersion", pa.int32()), ("minWriterVersion", pa.int32())])),
                    (
                        "metaData",
                        pa.struct(
                            [
                                ("id", pa.string()),
                                (
                                    "format",
                                    pa.struct(
                                        [("provider", pa.string()), ("options", pa.map_(pa.string(), pa.string()))]
                                    ),
                                ),
                                ("schemaString", pa.string()),
                                ("partitionColumns", pa.list_(pa.string())),
                                ("configuration", pa.map_(pa.string(), pa.string())),
                                ("createdTime", pa.int64()),
                            ]
                        ),
                    ),
                ]
            ),
        ),
        checkpoint,
    )
    for name in names[:3]:
        name.unlink()
    table = log.check()
    assert (table.verdict, told(table)) == (Verdict.PASS, [("CP06", "WARNING", None)])


def test_widening_is_checked_by_its_type_changes(log):
    fleet = {"must_stay_readable_by": ["Delta Spark 3.3.2", "Delta Spark 4.0.0"]}
    table = log.check(columns={"q": "bigint"}, fleet=fleet)
    assert told(table) == [("CP01", "ERROR", "Delta Spark 3.3.2")]
    assert log.check(columns={"q": "int"}, fleet=fleet).verdict is Verdict.PASS
    for columns in ({"nope": "bigint"}, {"q": "smallint"}):
        assert log.check(columns=columns).verdict is Verdict.REFUSED


def test_a_probe_says_what_the_installed_engine_did(log, monkeypatch):
    table = log.check(probe=True)
    assert table.evidence["probe"]["reads"] in (True, None)
    both = {"readerFeatures": ["typeWidening"], "writerFeatures": ["typeWidening"]}
    log.commit(0, SPARK, {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **both}})
    table = log.check(probe=True)
    assert table.evidence["probe"]["reads"] is False
    assert told(table) == [("CP07", "WARNING", f"delta-rs {table.evidence['probe']['version']}")]
    monkeypatch.setattr(drift, "_PACKAGE", "no_such_package")
    assert told(log.check(probe=True)) == [("CP08", "WARNING", "delta-rs")]


def test_engines_that_refuse_a_table_with_an_unlisted_feature_are_named_without_a_release(tmp_path):
    metadata = {"metaData": {**METADATA["metaData"], "configuration": {"delta.enableRowTracking": "true"}}}
    log = Log(tmp_path / "t").commit(30, SPARK, protocol("appendOnly", "domainMetadata"), metadata)
    known = log.check().evidence["known_lockouts"]
    assert ("Delta Spark" in known["read"], "Delta Spark" in known["write"]) == (True, True)
