"""The job that checks retention: on tables on disk, without Spark."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from airflow_delta_provider.domain.delta.retention import OffsetError, is_hidden, parse_offsets
from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.report.report import TableReport, Verdict
from airflow_delta_provider.domain.request.check_options import CheckRetentionOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.run.runner import run

ID = "11111111-1111-4111-8111-111111111111"
PROTOCOL = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 4}}
FIELD = {"name": "id", "type": "long", "nullable": True, "metadata": {}}
NOW = time.time()


def days_ago(days: float) -> int:
    return int((NOW - days * 86_400) * 1000)


def metadata(**configuration: str) -> dict[str, Any]:
    return {
        "metaData": {
            "id": ID,
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps({"type": "struct", "fields": [FIELD]}),
            "partitionColumns": [],
            "configuration": {name.replace("_", "."): value for name, value in configuration.items()},
        }
    }


def vector(cardinality: int = 1) -> dict[str, Any]:
    return {
        "storageType": "u",
        "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
        "offset": 1,
        "sizeInBytes": 34,
        "cardinality": cardinality,
    }


class Table:
    """A table on disk: its commits are so many days old, and so are its files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.log = path / "_delta_log"
        self.log.mkdir(parents=True)
        self.version = -1

    def commit(self, days: float, *actions: Any, **info: Any) -> Table:
        self.version += 1
        content = {"commitInfo": {"timestamp": days_ago(days), "operation": "WRITE", **info}}
        self.write(f"_delta_log/{self.version:020d}.json", days, "\n".join(map(json.dumps, (content, *actions))) + "\n")
        return self

    def write(self, name: str, days: float, content: str = "0123456789") -> None:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        os.utime(file, (NOW - days * 86_400,) * 2)

    def add(self, name: str, days: float, *, data_change: bool = True, **more: Any) -> dict[str, Any]:
        if "deletionVector" not in more:
            self.write(name, days)
        body = {"path": name, "partitionValues": {}, "size": 10, "modificationTime": 1, "dataChange": data_change}
        return {"add": {**body, **more}}

    def appends(self, number: int, days: float) -> Table:
        for _ in range(number):
            self.commit(days, self.add(f"f{self.version + 1}", days))
        return self

    def vacuum(self, days: float, retention_days: float, status: str = "COMPLETED") -> Table:
        parameters = {"retentionCheckEnabled": "true", "defaultRetentionMillis": int(retention_days * 86_400_000)}
        self.commit(days, operation="VACUUM START", operationParameters=parameters)
        return self.commit(days, operation="VACUUM END", operationParameters={"status": status})

    def checkpoint(self, version: int, *actions: Any) -> Table:
        name = f"_delta_log/{version:020d}.checkpoint.11111111-1111-4111-8111-111111111111.json"
        lines = ({"checkpointMetadata": {"version": version}}, *actions)
        self.write(name, 0, "".join(json.dumps(line) + "\n" for line in lines))
        return self

    def forget(self, version: int) -> Table:
        for earlier in range(version + 1):
            (self.log / f"{earlier:020d}.json").unlink(missing_ok=True)
        return self

    def check(self, **options: Any) -> TableReport:
        request = JobRequest((str(self.path),), CheckRetentionOptions(**options))
        (table,) = run(request, python_session()).tables
        return table


def removed(name: str, days: float, *, data_change: bool = True, **more: Any) -> dict[str, Any]:
    return {
        "remove": {"path": name, "deletionTimestamp": days_ago(days), "dataChange": data_change, "size": 10, **more}
    }


def stream(folder: Path, version: int, index: int = -1, *, initial: bool = False, batch: int = 9) -> str:
    """A checkpoint of a stream that has committed a batch, and begun another one."""
    for kind in ("commits", "offsets"):
        (folder / kind).mkdir(parents=True)
    for number, shift in ((batch, 0), (batch + 1, 5)):
        offset = {"sourceVersion": 1, "reservoirId": ID, "reservoirVersion": version + shift, "index": index}
        lines = (
            "v1",
            json.dumps({"batchWatermarkMs": 0, "conf": {}}),
            json.dumps({**offset, "isStartingVersion": initial}),
        )
        (folder / "offsets" / str(number)).write_text("\n".join(lines))
    (folder / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')
    (folder / "commits" / f".{batch}.crc").write_text("x")
    return str(folder)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """A table with four files that were rewritten to one: versions 1 to 4 and 5."""
    table = Table(tmp_path / "t").commit(40, PROTOCOL, metadata()).appends(4, 30)
    rewritten = (removed(f"f{n}", 20, data_change=False) for n in range(1, 5))
    return table.commit(20, *rewritten, table.add("all", 20, data_change=False), operation="OPTIMIZE").appends(2, 1)


def evidence(report: TableReport) -> dict[str, Any]:
    assert report.evidence is not None
    return dict(report.evidence)


def codes(report: TableReport) -> list[str]:
    return [finding.code for finding in report.findings]


@pytest.mark.parametrize("level", ["log", "files"])
def test_vacuum_that_was_never_run_would_delete_what_was_removed_before(table: Table, level: str) -> None:
    report = table.check(level=level)
    assert (report.verdict, codes(report)) == (Verdict.PASS, [])
    known = evidence(report)
    assert (known["earliest_version"], known["travel_from_version"]) == (0, 0)
    assert known["feed_from_version"] is None
    vacuum = known["vacuum"]
    assert (vacuum["files"], vacuum["bytes"], vacuum["unsized"]) == (4, 40, 0)
    assert vacuum["paths"] == ["f1", "f2", "f3", "f4"]
    assert vacuum["travel_from_version"] == 5
    assert vacuum["retain"] == "7d"
    assert evidence(table.check(level=level, vacuum_retain="25d"))["vacuum"]["files"] == (0 if level == "log" else 4)


def test_tables_property_decides_and_another_retention_is_a_warning(table: Table) -> None:
    table.commit(0.5, metadata(delta_deletedFileRetentionDuration="interval 21 days"))
    assert evidence(table.check())["vacuum"]["files"] == 0
    report = table.check(vacuum_retain="480h")
    assert (report.verdict, codes(report)) == (Verdict.PASS, ["RE06"])
    assert "RETAIN" in report.findings[0].message
    assert codes(table.check(vacuum_retain="504 hours")) == []


def test_recorded_vacuum_ends_time_travel_and_an_unfinished_one_does_not(table: Table) -> None:
    table.vacuum(5, 7, status="FAILED")
    assert evidence(table.check())["travel_from_version"] == 0
    table.vacuum(5, 7)
    known = evidence(table.check())
    assert known["travel_from_version"] == 5
    assert known["vacuum"]["files"] == 0


def test_listing_shows_what_is_gone_and_what_nobody_names(table: Table) -> None:
    (table.path / "f2").unlink()
    for name in ("stray.parquet", "day=1/stray", "_hidden", ".hidden", "_change_data/x"):
        table.write(name, 8)
    table.write("young", 6)
    known = evidence(table.check(level="files"))
    assert known["travel_from_version"] == 5
    vacuum = known["vacuum"]
    assert vacuum["paths"] == ["_change_data/x", "day=1/stray", "f1", "f3", "f4", "stray.parquet"]
    assert (vacuum["unreferenced"], vacuum["bytes"]) == (3, 60)


def test_link_that_leads_back_is_not_followed(table: Table) -> None:
    (table.path / "again").symlink_to(table.path)
    assert evidence(table.check(level="files"))["vacuum"]["files"] == 4


def test_live_file_that_is_gone_is_a_violation_at_level_files_only(table: Table) -> None:
    (table.path / "all").unlink()
    report = table.check(level="files")
    assert (report.verdict, codes(report)) == (Verdict.VIOLATED, ["DF01"])
    assert evidence(report)["travel_from_version"] is None
    assert table.check().verdict is Verdict.PASS


def test_file_is_kept_while_its_removal_is_younger_than_the_property(table: Table) -> None:
    table.commit(6, removed("all", 6))
    assert "all" not in evidence(table.check(level="files"))["vacuum"]["paths"]
    assert "all" in evidence(table.check(level="files", vacuum_retain="0h"))["vacuum"]["paths"]


def test_removal_that_only_a_checkpoint_has_keeps_its_file(tmp_path: Path) -> None:
    table = Table(tmp_path / "t").commit(40, PROTOCOL, metadata()).appends(2, 30).commit(3, removed("f1", 3))
    live = table.add("f2", 30)
    table.checkpoint(3, PROTOCOL, metadata(), live, removed("f1", 3)).forget(3).commit(1, table.add("f4", 1))
    known = evidence(table.check(level="files"))
    assert known["earliest_version"] == 3
    assert known["vacuum"]["files"] == 0
    assert evidence(table.check(level="files", vacuum_retain="48h"))["vacuum"]["paths"] == ["f1"]


def test_deletion_vectors_are_files_of_their_own(tmp_path: Path) -> None:
    table = Table(tmp_path / "t").commit(40, PROTOCOL, metadata()).appends(1, 30)
    marked = table.add("f1", 30, deletionVector=vector())
    table.commit(20, marked, removed("f1", 20))
    table.commit(15, table.add("f2", 15), removed("f1", 15, deletionVector=vector()))
    vacuum = evidence(table.check())["vacuum"]
    assert [path.partition("deletion_vector_")[2][:4] for path in vacuum["paths"]] == ["d2c6", ""]
    assert vacuum["files"] == 2
    assert (vacuum["bytes"], vacuum["unsized"]) == (10, 1)


class TestChangeFeed:
    def fed(self, tmp_path: Path) -> Table:
        """A feed that begins with version 2; version 3 has change data, version 4 was rewritten by version 5."""
        table = Table(tmp_path / "t").commit(40, PROTOCOL, metadata()).appends(1, 39)
        table.commit(38, metadata(delta_enableChangeDataFeed="true"))
        table.write("_change_data/c3", 37)
        change = {"cdc": {"path": "_change_data/c3", "partitionValues": {}, "size": 10, "dataChange": False}}
        table.commit(37, removed("f1", 37), table.add("f3", 37), change)
        table.appends(1, 30)
        table.commit(20, removed("f4", 20, data_change=False), table.add("f5", 20, data_change=False))
        return table.appends(1, 1)

    def test_begins_where_it_was_enabled(self, tmp_path: Path) -> None:
        assert evidence(self.fed(tmp_path).check())["feed_from_version"] == 2

    def test_vacuum_would_delete_change_data_and_files_that_were_rewritten_since(self, tmp_path: Path) -> None:
        vacuum = evidence(self.fed(tmp_path).check())["vacuum"]
        assert vacuum["paths"] == ["_change_data/c3", "f1", "f4"]
        assert vacuum["feed_from_version"] == 5
        assert vacuum["travel_from_version"] == 5

    def test_lost_file_cuts_it(self, tmp_path: Path) -> None:
        table = self.fed(tmp_path)
        (table.path / "_change_data/c3").unlink()
        assert evidence(table.check(level="files"))["feed_from_version"] == 4
        (table.path / "f4").unlink()
        assert evidence(table.check(level="files"))["feed_from_version"] == 5
        assert evidence(table.check(level="files"))["travel_from_version"] == 5

    def test_commit_of_the_oldest_checkpoint_is_part_of_it(self, tmp_path: Path) -> None:
        table = self.fed(tmp_path)
        fed = metadata(delta_enableChangeDataFeed="true")
        live = [table.add(name, 20) for name in ("f3", "f4")]
        table.checkpoint(4, PROTOCOL, fed, *live).forget(3)
        assert evidence(table.check())["feed_from_version"] == 4
        assert evidence(table.check())["vacuum"]["feed_from_version"] == 5
        table.forget(4)
        assert evidence(table.check())["feed_from_version"] == 5

    def test_break_in_between_starts_it_anew(self, tmp_path: Path) -> None:
        table = self.fed(tmp_path).commit(1, metadata()).commit(1, metadata(delta_enableChangeDataFeed="true"))
        assert evidence(table.check())["feed_from_version"] == 8
        assert evidence(table.commit(1, metadata()).check())["feed_from_version"] is None


class TestConsumers:
    def outcome(self, table: Table, consumer: str, **options: Any) -> tuple[str, list[str]]:
        report = table.check(consumers=(consumer,), **options)
        (outcome,) = evidence(report)["consumers"]
        return outcome["outcome"], codes(report)

    def test_stream_that_has_read_all_needs_nothing(self, table: Table, tmp_path: Path) -> None:
        assert self.outcome(table, stream(tmp_path / "s", 8)) == ("OK", [])
        assert table.check(consumers=(str(tmp_path / "s"),)).verdict is Verdict.PASS

    @pytest.mark.parametrize("version", [5, 6, 7])
    def test_stream_behind_that_needs_only_kept_files_is_not_broken(
        self, table: Table, tmp_path: Path, version: int
    ) -> None:
        assert self.outcome(table, stream(tmp_path / "s", version)) == ("OK", [])

    def test_vacuum_breaks_a_stream_that_has_not_read_a_rewritten_file(self, table: Table, tmp_path: Path) -> None:
        behind = stream(tmp_path / "s", 4)
        report = table.check(consumers=(behind,))
        assert report.verdict is Verdict.VIOLATED
        assert self.outcome(table, behind) == ("BROKEN_BY_VACUUM", ["RE02"])
        (finding,) = report.findings
        assert (finding.subject, finding.version) == (behind, 4)
        assert "retention of 7d would delete files that it still has to read" in finding.message
        table.commit(0.5, metadata(delta_deletedFileRetentionDuration="interval 21 days"))
        assert self.outcome(table, behind) == ("OK", [])

    def test_file_that_a_stream_has_read_within_its_version_is_no_false_alarm(
        self, table: Table, tmp_path: Path
    ) -> None:
        """One file of version 4 is read: none is left, but the log does not say which one it was."""
        assert self.outcome(table, stream(tmp_path / "s", 4, 0)) == ("UNKNOWN", ["RE04"])

    def test_stream_that_reads_the_initial_snapshot_needs_its_files(self, table: Table, tmp_path: Path) -> None:
        assert self.outcome(table, stream(tmp_path / "a", 4, 1, initial=True)) == ("BROKEN_BY_VACUUM", ["RE02"])
        assert self.outcome(table, stream(tmp_path / "b", 4, 3, initial=True)) == ("UNKNOWN", ["RE04"])
        assert self.outcome(table, stream(tmp_path / "c", 6, 0, initial=True)) == ("OK", [])

    def test_stream_whose_files_are_gone_is_broken_already(self, table: Table, tmp_path: Path) -> None:
        (table.path / "f4").unlink()
        behind = stream(tmp_path / "s", 4)
        assert self.outcome(table, behind, level="files") == ("BROKEN", ["RE01"])
        assert self.outcome(table, behind) == ("BROKEN_BY_VACUUM", ["RE02"])
        assert self.outcome(table.vacuum(5, 7), behind) == ("BROKEN", ["RE01"])

    def test_stream_whose_commits_are_gone_is_broken_already(self, table: Table, tmp_path: Path) -> None:
        live = [table.add(name, 1) for name in ("all", "f6", "f7")]
        table.checkpoint(7, PROTOCOL, metadata(), *live).forget(6).commit(1)
        assert self.outcome(table, stream(tmp_path / "a", 6)) == ("BROKEN", ["RE01"])
        assert self.outcome(table, stream(tmp_path / "b", 8)) == ("OK", [])

    def test_log_clean_up_breaks_a_stream_whose_commit_is_old(self, table: Table, tmp_path: Path) -> None:
        behind = stream(tmp_path / "s", 5)
        assert self.outcome(table, behind) == ("OK", [])
        assert self.outcome(table, behind, log_retain="10d") == ("BROKEN_BY_CLEAN_UP", ["RE03"])
        table.commit(0.5, metadata(delta_logRetentionDuration="interval 10 days"))
        assert self.outcome(table, behind) == ("BROKEN_BY_CLEAN_UP", ["RE03"])
        off = {"delta_logRetentionDuration": "interval 10 days", "delta_enableExpiredLogCleanup": "false"}
        assert self.outcome(table.commit(0.5, metadata(**off)), behind) == ("OK", [])

    def test_change_feed_that_a_stream_may_read_is_undetermined(self, tmp_path: Path) -> None:
        table = TestChangeFeed().fed(tmp_path)
        table.commit(18, removed("f3", 18)).commit(0.5, metadata(delta_enableChangeDataFeed="true"))
        assert self.outcome(table, stream(tmp_path / "s", 6)) == ("UNKNOWN", ["RE04"])
        (finding,) = table.check(consumers=(str(tmp_path / "s"),)).findings
        assert "Let the stream catch up first" in finding.message

    @pytest.mark.parametrize("version", [9, 99])
    def test_stream_ahead_of_the_table_is_undetermined(self, table: Table, tmp_path: Path, version: int) -> None:
        outcome, found = self.outcome(table, stream(tmp_path / "s", version))
        assert (outcome, found) == ("UNKNOWN", ["RE04"])
        assert table.check(consumers=(str(tmp_path / "s"),)).verdict is Verdict.UNDETERMINED

    def test_folder_without_a_committed_batch_is_undetermined(self, table: Table, tmp_path: Path) -> None:
        assert self.outcome(table, str(tmp_path / "none")) == ("UNKNOWN", ["RE04"])
        (Path(stream(tmp_path / "s", 4)) / "commits" / "9").unlink()
        assert self.outcome(table, str(tmp_path / "s")) == ("UNKNOWN", ["RE04"])

    def test_consumer_outside_the_allowed_locations_is_refused(self, table: Table, tmp_path: Path) -> None:
        behind = stream(tmp_path / "s", 4)
        options = CheckRetentionOptions(consumers=(behind,))
        request = JobRequest((str(table.path),), options, allowed_locations=(str(table.path),))
        (report,) = run(request, python_session()).tables
        assert report.verdict is Verdict.REFUSED
        assert "consumers is" in report.findings[0].message


def test_damaged_history_is_undetermined(table: Table) -> None:
    live = [table.add(name, 1) for name in ("all", "f6", "f7")]
    table.checkpoint(7, PROTOCOL, metadata(), *live)
    (table.log / f"{3:020d}.json").write_text("{")
    report = table.check()
    assert (report.verdict, codes(report)) == (Verdict.UNDETERMINED, ["RE05"])


def test_property_that_is_no_interval_is_undetermined(table: Table) -> None:
    table.commit(0.5, metadata(delta_deletedFileRetentionDuration="a week"))
    assert codes(table.check()) == ["RE05"]


@pytest.mark.parametrize("given", ["168", "a week", "-7d", ""])
def test_retention_without_a_unit_is_refused(given: str) -> None:
    with pytest.raises(RequestError, match="such as 90m, 168h or 7d"):
        CheckRetentionOptions(vacuum_retain=given)


def test_retention_is_kept_in_one_spelling() -> None:
    options = CheckRetentionOptions(vacuum_retain="168 hours", log_retain="90m")
    assert (options.vacuum_retain, options.log_retain) == ("7d", "90m")


def test_offsets_of_several_sources_give_the_earliest_of_the_table() -> None:
    def offset(version: int, table_id: str = ID) -> dict[str, Any]:
        return {"reservoirId": table_id, "reservoirVersion": version, "index": -1, "isStartingVersion": False}

    lines = ["v1", "{}", "-", json.dumps(offset(7)), json.dumps(offset(3, "other")), json.dumps(offset(5))]
    assert parse_offsets("\n".join(lines).encode(), ID).version == 5
    nested = json.dumps({"a": json.dumps(offset(4)), "b": None, "c": {"topic": {"0": 12}}})
    assert parse_offsets(f"v2\n{{}}\n{nested}".encode(), ID).version == 4
    for content, why in (
        ('v1\n{}\n{"topic":{"0":12}}', "no source of the stream is a Delta table"),
        (f"v1\n{{}}\n{json.dumps(offset(3, 'other'))}", "reads the table with the id other"),
        (f"v1\n{{}}\n{json.dumps({**offset(3), 'reservoirVersion': None})}", "no reservoirVersion"),
    ):
        with pytest.raises(OffsetError, match=why):
            parse_offsets(content.encode(), ID)
    with pytest.raises(OffsetError, match="UTF-8"):
        parse_offsets(b"\xff", ID)


@pytest.mark.parametrize(
    ("name", "hidden"),
    [
        ("_delta_log", True),
        ("_x", True),
        (".x", True),
        ("_change_data", False),
        ("_delta_index", False),
        ("_p=1", False),
        ("_q=1", True),
        ("metadata", False),
    ],
)
def test_hidden_names_are_those_that_delta_spark_leaves_alone(name: str, hidden: bool) -> None:
    assert is_hidden(name, ["_p"], iceberg=False) is hidden
    assert is_hidden("metadata", [], iceberg=True)
