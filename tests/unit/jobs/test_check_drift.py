"""The job that compares tables with their specs: on logs on disk, without Spark."""

from __future__ import annotations

import json
import time
from datetime import datetime, timedelta, timezone
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


def at(hours: float) -> int:
    """The time so many hours ago, in milliseconds."""
    return int((time.time() - hours * 3600) * 1000)


def added(path: str, rows: int | None = 10, *, data_change: bool = True, deleted: int = 0) -> dict[str, Any]:
    body: dict[str, Any] = {**ADD["add"], "path": path, "dataChange": data_change}
    if rows is not None:
        body["stats"] = json.dumps({"numRecords": rows})
    if deleted:
        vector = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 1, "sizeInBytes": 34}
        body["deletionVector"] = {**vector, "cardinality": deleted}
    return {"add": body}


class TestFreshness:
    def table(self, tmp_path: Path, hours: float = 1, **info: Any) -> Log:
        log = Log(tmp_path / "t").commit(PROTOCOL, metadata(), timestamp=at(500))
        return log.commit(added("a"), **{"timestamp": at(hours), **info})

    def check(self, log: Log, freshness: str = "26h") -> list[tuple[str, str]]:
        _, findings = log.check({"freshness": freshness})
        return [(finding.code, finding.message) for finding in findings]

    def test_data_that_is_new_enough_passes_and_the_report_names_its_commit(self, tmp_path: Path) -> None:
        log = self.table(tmp_path, 25)
        report = run(
            JobRequest((str(log.path),), CheckDriftOptions(spec=({"freshness": "26h"},))), python_session()
        ).tables[0]
        assert report.verdict is Verdict.PASS
        assert report.evidence is not None
        assert (report.evidence["data_version"], report.evidence["data_time_source"]) == (1, "commitInfo.timestamp")
        assert self.check(log, "1 day")[0][0] == "DR18"

    def test_old_data_is_a_finding_of_the_commit_that_changed_it_last(self, tmp_path: Path) -> None:
        log = self.table(tmp_path, 27, **MERGE)
        verdict, (finding,) = log.check({"freshness": "26h"})
        assert (verdict, finding.code, finding.version, finding.operation) == (Verdict.VIOLATED, "DR18", 1, "MERGE")
        assert ", 27 hours ago, but freshness 26h is declared." in finding.message
        assert "(commitInfo.timestamp)" in finding.message

    def test_finding_stays_the_same_as_time_goes_by(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        log = self.table(tmp_path, 27)
        (first,) = log.check({"freshness": "26h"})[1]
        later = datetime.now(timezone.utc) + timedelta(hours=5)

        class Later(datetime):
            @classmethod
            def now(cls, tz: Any = None) -> Any:
                return later

        monkeypatch.setattr(drift, "datetime", Later)
        (second,) = log.check({"freshness": "26h"})[1]
        assert "32 hours ago" in second.message
        assert first.facts == second.facts

    def test_commits_that_change_no_data_make_nothing_fresh(self, tmp_path: Path) -> None:
        log = self.table(tmp_path, 27)
        removed = {"remove": {"path": "a", "dataChange": False, "deletionTimestamp": 1}}
        log.commit(added("b", data_change=False), removed, operation="OPTIMIZE", timestamp=at(1))
        log.commit(metadata(description="x"), timestamp=at(0.5))
        assert [code for code, _ in self.check(log)] == ["DR18"]
        log.commit({"remove": {"path": "b", "dataChange": True, "deletionTimestamp": 1}}, timestamp=at(0.2))
        assert self.check(log) == []

    def test_in_commit_timestamp_counts_if_the_table_has_them(self, tmp_path: Path) -> None:
        log = Log(tmp_path / "t")
        features = {**PROTOCOL["protocol"], "writerFeatures": ["typeWidening", "inCommitTimestamp"]}
        log.commit(
            {"protocol": features},
            metadata(configuration={"delta.enableInCommitTimestamps": "true"}),
            inCommitTimestamp=at(500),
        )
        log.commit(added("a"), timestamp=at(1), inCommitTimestamp=at(30))
        ((code, message),) = self.check(log)
        assert code == "DR18"
        assert "(inCommitTimestamp), 30 hours ago" in message

    def test_table_that_never_had_data_is_as_old_as_its_first_commit(self, tmp_path: Path) -> None:
        log = Log(tmp_path / "t").commit(PROTOCOL, metadata(), timestamp=at(3))
        assert self.check(log, "4h") == []
        ((code, message),) = self.check(log, "2h")
        assert code == "DR18"
        assert message.startswith("No commit since ")

    def test_cleaned_up_log_decides_only_if_its_oldest_commit_is_old_enough(self, tmp_path: Path) -> None:
        log = self.table(tmp_path, 60)
        log.commit(metadata(description="x"), timestamp=at(30)).commit(metadata(), timestamp=at(1))
        log.checkpoint(2).forget(1)
        assert [code for code, _ in self.check(log, "26h")] == ["DR18"]
        ((code, message),) = self.check(log, "40h")
        assert code == "DR20"
        assert "the log begins with version 2" in message

    @pytest.mark.parametrize("timestamp", [None, "yesterday"])
    def test_commit_without_a_time_is_undetermined(self, tmp_path: Path, timestamp: Any) -> None:
        verdict, (finding,) = self.table(tmp_path, timestamp=timestamp).check({"freshness": "26h"})
        assert (verdict, finding.code) == (Verdict.UNDETERMINED, "DR20")
        assert "version 1 states no time" in finding.message

    def test_time_in_the_future_is_undetermined_and_a_clock_that_is_a_little_fast_is_not(self, tmp_path: Path) -> None:
        assert self.check(self.table(tmp_path / "a", -2)) == []
        assert self.check(self.table(tmp_path / "b", -48))[0][0] == "DR20"

    def test_damaged_commit_before_the_last_change_is_undetermined(self, tmp_path: Path) -> None:
        log = self.table(tmp_path, 27)
        log.commit(metadata(), timestamp=at(1)).commit(metadata(), timestamp=at(1)).checkpoint(3)
        (log.log / f"{2:020d}.json").write_text("{")
        ((code, message),) = self.check(log)
        assert (code, "one cannot be read" in message) == ("DR20", True)

    def test_another_table_is_not_compared(self, tmp_path: Path) -> None:
        _, findings = self.table(tmp_path, 27).check({"table_id": "b", "freshness": "26h", "rows": {"min": 99}})
        assert [finding.code for finding in findings] == ["DR01"]

    def test_policy_makes_it_a_warning(self, tmp_path: Path) -> None:
        verdict, _ = self.table(tmp_path, 27).check(
            {"freshness": "26h"}, {"tables": [{"table": "*", "warning": ["DR18"]}]}
        )
        assert verdict is Verdict.PASS


class TestRows:
    @pytest.mark.parametrize(
        ("files", "rows", "code"),
        [
            ([added("a"), added("b", 5)], {"min": 15, "max": 15}, None),
            ([added("a"), added("b", 5)], {"min": 16}, "DR19"),
            ([added("a"), added("b", 5)], {"max": 14}, "DR19"),
            ([added("a", 10, deleted=4)], {"min": 6, "max": 6}, None),
            ([added("a", 10, deleted=4)], {"min": 7}, "DR19"),
            ([], {"min": 1}, "DR19"),
            ([], {"max": 0}, None),
            ([added("a", 0)], {"min": 1}, "DR19"),
            ([added("a"), added("b", None)], {"min": 10}, None),
            ([added("a"), added("b", None)], {"min": 11}, "DR20"),
            ([added("a"), added("b", None)], {"max": 10}, "DR20"),
            ([added("a"), added("b", None)], {"max": 9}, "DR19"),
        ],
    )
    def test_number_of_rows(self, tmp_path: Path, files: list[Any], rows: dict[str, int], code: str | None) -> None:
        log = Log(tmp_path / "t").commit(PROTOCOL, metadata()).commit(*files)
        verdict, findings = log.check({"rows": rows})
        assert [finding.code for finding in findings] == ([] if code is None else [code])
        wanted = {None: Verdict.PASS, "DR19": Verdict.VIOLATED, "DR20": Verdict.UNDETERMINED}
        assert verdict is wanted[code]

    def test_message_names_both_numbers(self, tmp_path: Path) -> None:
        log = Log(tmp_path / "t").commit(PROTOCOL, metadata()).commit(added("a", 1_000))
        assert log.check({"rows": {"min": 2_000, "max": 3_000}})[1][0].evidence == (
            "The table has 1,000 rows, but 2,000 to 3,000 are declared."
        )
        log.commit(added("b", None))
        assert log.check({"rows": {"max": 10}})[1][0].evidence == (
            "The table has at least 1,000 rows, but at most 10 are declared."
        )
        assert log.check({"rows": {"max": 5_000}})[1][0].evidence == (
            "The spec declares at most 5,000 rows, but 1 of 2 live files have no row count in the log. The others have "
            "1,000 rows."
        )
