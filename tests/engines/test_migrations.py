"""Migrations by the ``spark-submit`` of other releases: applied as declared, or refused with nothing changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.migration_options import ApplyMigrationOptions, PlanMigrationOptions
from tests.engines.pair import Pair
from tests.engines.submitted import Script
from tests.tables import log
from tests.tables.migrating import DECLARED, plain

ALLOWED = {"allow_protocol_upgrade": True, "allow_rewrite": True}
_REWRITE = "airflow_delta_provider.jobs.changes.engine_transaction.find_lost"
_COMMIT = "airflow_delta_provider.jobs.changes.engine_transaction.check_commit"
#: Clustered afterwards, without partitions: all that the first table does not get.
CLUSTERED: dict[str, Any] = {
    "columns": [
        {"name": "code", "nullable": True},
        {"name": "label", "renamed_from": "name", "nullable": False},
        {"name": "at", "type": "timestamp", "rewrite": True},
        {"name": "raw", "type": "string", "rewrite": True},
    ],
    "time_zone": "America/New_York",
    "partition_by": [],
    "rewrite": True,
    "features": ["rowTracking", "inCommitTimestamp", "deletionVectors", "columnMapping"],
    "cluster_by": ["id"],
    "constraints": {"named": "label IS NOT NULL"},
}
CREATED = (
    "CREATE TABLE delta.`{path}` (id int, code string NOT NULL, name string, at string, raw binary, day date) "
    "USING delta PARTITIONED BY (day) TBLPROPERTIES ('delta.feature.vacuumProtocolCheck' = 'supported')"
)
FILLED = (
    "INSERT INTO delta.`{path}` SELECT CAST(id AS int), 'c', 'n', '2026-07-01 12:00:00', X'c3bc', DATE'2026-07-01' "
    "FROM range(3)"
)


def options(spec: dict[str, Any], **known: Any) -> ApplyMigrationOptions:
    return ApplyMigrationOptions(spec=(spec,), **{**ALLOWED, **known})


def state(path: Path) -> Any:
    return log.newest(path), sorted(file.name for file in path.rglob("*.parquet"))


def test_everything_that_a_release_can_do_is_done_and_a_second_run_changes_nothing(pair: Pair, tmp_path: Path) -> None:
    if pair.line < (3, 3):
        pytest.skip("Delta 3.2 enables column mapping and row tracking on new tables only")
    widens = pair.line >= (4, 0)
    declared = DECLARED if widens else {**DECLARED, "rewrite": True}
    changed = {**CLUSTERED, "drop_features": ["vacuumProtocolCheck"]} if widens else CLUSTERED
    path, clustered = tmp_path / "plain", tmp_path / "clustered"
    script = Script()
    plain(script, path)  # type: ignore[arg-type]  # it asks its session for nothing but SQL
    script.sql(CREATED.format(path=clustered))
    script.sql(FILLED.format(path=clustered))
    first, again = (script.request(path, options(declared)) for _ in range(2))
    dry = script.request(clustered, options(changed), dry_run=True)
    second = script.request(clustered, options(changed))
    left = script.request(clustered, PlanMigrationOptions(spec=(changed,)))
    audits = [script.request(each, AuditOptions(level="data")) for each in (path, clustered)]
    rows = script.sql(f"SELECT id, amount, b, s.x, s.z, noted, l, day FROM delta.`{path}` ORDER BY id")
    moments = script.sql(f"SELECT DISTINCT code, label, raw, unix_seconds(at) FROM delta.`{clustered}`")
    places = script.sql(f"DESCRIBE DETAIL delta.`{clustered}`")

    results = script.run(pair, tmp_path)

    for place in (first, again, second, *audits):
        report = results.report(place)
        assert (report.verdict, report.findings) == (Verdict.PASS, ()), place
    assert (results.report(first).changed, results.report(again).changed) == (True, False)
    plan = results.report(left).plan
    assert plan is not None
    assert plan["steps"] == []
    promised, done = results.report(dry), results.report(second)
    assert promised.protocol_after == done.protocol_after
    assert (promised.plan or {})["digest"] == (done.plan or {})["digest"]
    fields = log.fields(path)
    assert {name: fields[name]["type"] for name in ("id", "amount", "b")} == {
        "id": "long",
        "amount": "long",
        "b": "integer",
    }
    assert [row[:4] for row in results.rows(rows)] == [
        ["1", "10", "1", "11"],
        ["2", "20", "2", "21"],
        ["3", "None", "None", "None"],
    ]
    features = log.protocol(clustered)["writerFeatures"]
    assert "typeWidening" not in features
    assert ("vacuumProtocolCheck" in features) is not widens
    assert done.protocol_after is not None
    assert sorted(done.protocol_after["writerFeatures"]) == features
    assert results.rows(moments) == [["'c'", "'n'", "'ü'", "1782921600"]]
    assert any("['id']" in value for value in results.rows(places)[0])


REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "widening": ({"columns": [{"name": "id", "type": "bigint"}]}, "3.5", "RQ05"),
    "variant": ({"columns": [{"name": "v", "type": "variant"}]}, "3.5", "RQ05"),
    "unknown feature": ({"features": ["appendOnly", "futureFeature"]}, "", "RQ06"),
    "feature": ({"features": ["materializePartitionColumns"]}, "3.5", "RQ05"),
    "drop": ({"drop_features": ["vacuumProtocolCheck"]}, "3.5", "RQ05"),
    "no zone": ({"columns": [{"name": "at", "type": "timestamp", "rewrite": True}]}, "", "RQ72"),
}


def test_what_a_release_cannot_do_is_refused_with_reason_and_remedy_before_anything_is_changed(
    pair: Pair, tmp_path: Path
) -> None:
    script, path = Script(), tmp_path / "t"
    script.sql(CREATED.format(path=path))
    script.sql(FILLED.format(path=path))
    with_more = {
        name: {"comment": "set only if the rest can be", "properties": {"team": "x"}, **spec}
        for name, (spec, release, _) in REFUSED.items()
        if pair.spark.startswith(release)
    }
    asked = {name: script.request(path, options(spec)) for name, spec in with_more.items()}
    results = script.run(pair, tmp_path)
    assert log.newest(path) == 1
    for name, place in asked.items():
        report = results.report(place)
        assert (report.verdict, {finding.code for finding in report.findings}) == (
            Verdict.REFUSED,
            {REFUSED[name][2]},
        ), name
        assert all(finding.remedy or RULES[finding.code].remedy for finding in report.findings), name
        assert report.changed is False


def test_writer_in_the_meantime_wins_or_is_kept_and_the_loser_may_try_again(pair: Pair, tmp_path: Path) -> None:
    script, path = Script(), tmp_path / "t"
    script.sql(CREATED.format(path=path))
    script.sql(FILLED.format(path=path))
    append = FILLED.format(path=path)
    alter = f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('meanwhile' = 'x')"
    comment, cast = {"columns": [{"name": "id", "comment": "number"}]}, {"partition_by": ["name"], "rewrite": True}
    kept = script.request(path, options(comment), at=_COMMIT, during=append)
    lost = [
        script.request(path, options({"columns": [{"name": "id", "comment": "x"}]}), at=_COMMIT, during=alter),
        script.request(path, options(cast), at=_REWRITE, during=append),
        script.request(path, options(cast), at=_REWRITE, during=alter.replace("meanwhile", "again")),
    ]
    rows = script.sql(f"SELECT count(*) FROM delta.`{path}`")
    results = script.run(pair, tmp_path)
    assert results.report(kept).verdict is Verdict.PASS
    for place in lost:
        report = results.report(place)
        assert (report.verdict, [finding.code for finding in report.findings]) == (Verdict.REFUSED, ["RQ15"])
        assert (report.retryable, report.changed) == (True, False)
    assert results.rows(rows) == [["9"]]
    assert {"meanwhile", "again"} <= log.configuration(path).keys()
