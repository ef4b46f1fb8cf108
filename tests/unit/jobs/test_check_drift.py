"""The job that compares tables with their specs: on logs on disk, without Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.report.report import Finding, Verdict
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.migration_options import CheckDriftOptions
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.migrations import drift
from airflow_delta_provider.jobs.run.runner import run

PROTOCOL = {
    "protocol": {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["typeWidening"],
        "writerFeatures": ["typeWidening", "invariants", "appendOnly"],
    }
}
ADD = {"add": {"path": "a", "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}}
INT = {"columns": [{"name": "id", "type": "bigint"}, {"name": "qty", "type": "int"}]}
MERGE = {"operation": "MERGE", "engineInfo": "Apache-Spark/4.2.0 Delta-Lake/4.4.0", "userName": "etl"}


def metadata(qty: str = "integer", **known: Any) -> dict[str, Any]:
    fields = [
        {"name": name, "type": data_type, "nullable": True, "metadata": {}}
        for name, data_type in {"id": "long", "qty": qty}.items()
    ]
    return {
        "metaData": {
            "id": "11111111-1111-4111-8111-111111111111",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps({"type": "struct", "fields": fields}),
            "partitionColumns": [],
            "configuration": {},
            "createdTime": 1,
            **known,
        }
    }


class Log:
    """A table on disk, commit by commit."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.log = path / "_delta_log"
        self.log.mkdir(parents=True)
        self.version = -1

    def commit(self, *actions: Any, **info: Any) -> Log:
        self.version += 1
        self._write(
            self.version, {"commitInfo": {"timestamp": 1_790_000_000_000, "operation": "WRITE", **info}}, *actions
        )
        return self

    def appends(self, number: int) -> Log:
        for _ in range(number):
            self.commit(ADD)
        return self

    def checkpoint(self, version: int, qty: str = "integer") -> Log:
        """Write a checkpoint of a version."""
        name = f"{version:020d}.checkpoint.11111111-1111-4111-8111-111111111111.json"
        lines = (PROTOCOL, metadata(qty), {"checkpointMetadata": {"version": version}})
        (self.log / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
        return self

    def forget(self, version: int) -> Log:
        """Delete the commits up to a version."""
        for earlier in range(version + 1):
            (self.log / f"{earlier:020d}.json").unlink()
        return self

    def check(self, spec: Any = INT, policy: Any = None) -> tuple[Verdict, list[Finding]]:
        report = run(JobRequest((str(self.path),), CheckDriftOptions(spec=(spec,), policy=policy)), python_session())
        (table,) = report.tables
        assert table.version == self.version
        return table.verdict, list(table.findings)

    def _write(self, version: int, *actions: Any) -> None:
        lines = "".join(json.dumps(action) + "\n" for action in actions)
        (self.log / f"{version:020d}.json").write_text(lines)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path / "orders").commit(PROTOCOL, metadata(), operation="CREATE TABLE")


def test_a_table_that_is_as_declared_passes(log: Log):
    assert log.appends(3).check() == (Verdict.PASS, [])


def test_the_commit_that_widened_a_column_is_named(log: Log):
    log.appends(2).commit(metadata("long"), ADD, **MERGE).appends(4)
    verdict, (finding,) = log.check()
    assert verdict is Verdict.VIOLATED
    assert (finding.code, finding.column, finding.version) == ("DR05", "qty", 3)
    assert (finding.operation, finding.engine, finding.user) == ("MERGE", MERGE["engineInfo"], "etl")
    assert finding.timestamp == "2026-09-21T14:13:20.000+00:00"


@pytest.mark.parametrize("searched", [1, 2, 3, 4, 5, 100])
def test_the_commit_is_found_however_far_back_it_is(log: Log, searched: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(drift, "_SEARCHED", (searched,))
    log.appends(1).commit(metadata("long"), **MERGE).appends(2)
    _, (finding,) = log.check()
    assert (finding.version, finding.at_or_before) == (2, None)


def test_only_as_many_commits_are_read_as_it_takes(log: Log, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(drift, "_SEARCHED", (3,))
    log.appends(5).checkpoint(4).commit(metadata("long"), **MERGE).appends(1)
    (log.log / f"{1:020d}.json").write_text("damaged")
    assert log.check()[1][0].version == 6


def test_a_commit_that_cannot_be_read_leaves_the_difference_without_a_commit(log: Log, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(drift, "_SEARCHED", ())
    log.appends(1).commit(metadata("long"), **MERGE).checkpoint(2, "long").appends(1)
    (log.log / f"{2:020d}.json").write_text('{"metaData": ')
    verdict, (finding,) = log.check()
    assert (verdict, finding.version) == (Verdict.VIOLATED, None)
    assert finding.evidence == "qty is bigint, but int is declared."


def test_of_a_log_that_was_cleaned_up_the_oldest_version_is_named(log: Log):
    log.appends(1).commit(metadata("long"), **MERGE).appends(3).checkpoint(4, "long").forget(4)
    _, (finding,) = log.check()
    assert (finding.version, finding.at_or_before, finding.operation) == (4, True, None)
    assert finding.evidence == "qty is bigint since version 4 or earlier, but int is declared."


def test_features_and_clustering_have_their_commit_too(log: Log):
    upgraded = {
        "protocol": {**PROTOCOL["protocol"], "writerFeatures": ["typeWidening", "clustering", "domainMetadata"]}
    }
    domain = {
        "domainMetadata": {
            "domain": "delta.clustering",
            "configuration": '{"clusteringColumns":[["qty"]]}',
            "removed": False,
        }
    }
    log.commit(upgraded).appends(1).commit(domain)
    _, findings = log.check({"drop_features": ["clustering"], "cluster_by": ["id"]})
    assert [(f.code, f.version) for f in findings] == [("DR13", 1), ("DR16", 3)]


def test_a_table_with_another_id_is_said_to_be_another(log: Log):
    verdict, (finding,) = log.check({"table_id": "22222222-2222-4222-8222-222222222222", **INT})
    assert (verdict, finding.code, finding.version) == (Verdict.VIOLATED, "DR01", 0)


@pytest.mark.parametrize("weight", ["error", "warning", "ignored"])
def test_a_policy_weighs_differences(log: Log, weight: str):
    log.commit(metadata("long"), **MERGE)
    verdict, findings = log.check(policy={"tables": [{"table": "*", weight: ["DR05"]}]})
    assert verdict is (Verdict.VIOLATED if weight == "error" else Verdict.PASS)
    assert [finding.severity.value for finding in findings] == ([] if weight == "ignored" else [weight.upper()])


def test_a_policy_waives_differences(log: Log):
    log.commit(metadata("long"), **MERGE)
    waiver = {"code": "DR05", "column": "qty", "owner": "ana", "reason": "planned", "expires": "2999-01-01"}
    verdict, (finding,) = log.check(policy={"waivers": [waiver]})
    assert (verdict, finding.waiver and finding.waiver.owner) == (Verdict.PASS, "ana")
    verdict, (finding,) = log.check(policy={"waivers": [{**waiver, "expires": "2020-01-01"}]})
    assert (verdict, finding.waiver) == (Verdict.VIOLATED, None)


def test_a_table_that_its_catalog_manages_is_undetermined(log: Log):
    managed = {
        "protocol": {
            **PROTOCOL["protocol"],
            "readerFeatures": ["typeWidening", "catalogManaged"],
            "writerFeatures": ["typeWidening", "catalogManaged", "inCommitTimestamp"],
        }
    }
    log.commit(managed, metadata("long"))
    verdict, findings = log.check()
    assert verdict is Verdict.UNDETERMINED
    assert [finding.code for finding in findings if finding.code.startswith("DR")] == []


def test_many_tables_are_checked_in_one_job(tmp_path: Path, log: Log):
    other = Log(tmp_path / "other").commit(PROTOCOL, metadata("long"))
    specs = tuple({"table": str(each.path), **INT} for each in (log, other))
    report = run(JobRequest(tuple(spec["table"] for spec in specs), CheckDriftOptions(spec=specs)), python_session())
    assert [table.verdict for table in report.tables] == [Verdict.PASS, Verdict.VIOLATED]


def test_a_table_without_a_spec_is_refused(log: Log):
    with pytest.raises(RequestError, match="spec has nothing for"):
        JobRequest((str(log.path), "elsewhere/t"), CheckDriftOptions(spec=({"table": str(log.path), **INT},)))


def test_a_table_that_should_be_like_another_has_its_columns(tmp_path: Path, log: Log):
    template = Log(tmp_path / "template").commit(PROTOCOL, metadata("long"))
    _, (finding,) = log.check({"like": str(template.path)})
    assert (finding.code, finding.column, finding.facts) == ("DR05", "qty", {"wanted": "bigint", "actual": "int"})
    assert log.check({"like": str(template.path), "columns": [{"name": "QTY", "type": "int"}]}) == (Verdict.PASS, [])


def test_a_table_that_should_be_like_one_that_is_not_there_is_refused(tmp_path: Path, log: Log):
    spec = {"like": str(tmp_path / "none")}
    report = run(JobRequest((str(log.path),), CheckDriftOptions(spec=(spec,))), python_session())
    (finding,) = report.tables[0].findings
    assert (report.tables[0].verdict, finding.code) == (Verdict.REFUSED, "RQ01")
