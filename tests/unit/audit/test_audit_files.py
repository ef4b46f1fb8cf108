"""What an audit takes of data files: where it belongs, what it follows from, and what becomes of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from airflow_delta_provider.domain.audit.history import HistoryAudit
from airflow_delta_provider.domain.audit.past import Addition, PastLog
from airflow_delta_provider.domain.audit.saved_state import OpenViolation
from airflow_delta_provider.domain.checks.data_files import files as data_files
from airflow_delta_provider.domain.checks.rule import FileAspect
from airflow_delta_provider.domain.checks.type_widening import changes as type_widening
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.table_state import Replay
from airflow_delta_provider.domain.report.report import Finding, Severity
from tests.unit.damages import FIRST, histories
from tests.unit.log_builder import History, Table, audited
from tests.unit.states import field, struct, type_to_json

FEATURES = ["appendOnly", "invariants", "domainMetadata", "rowTracking"]
CONFIGURATION = {
    "delta.enableRowTracking": "true",
    "delta.rowTracking.materializedRowIdColumnName": "_row-id",
    "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-commit-version",
}


def metadata(data_type: str) -> dict[str, Any]:
    return {
        "metaData": {
            "id": "id",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps(type_to_json(struct(field("c", data_type)))),
            "partitionColumns": [],
            "configuration": CONFIGURATION,
            "createdTime": 1,
        }
    }


def add(path: str, base: int, version: int, rows: int | None) -> dict[str, Any]:
    known = {"path": path, "size": 100, "partitionValues": {}, "modificationTime": 1, "dataChange": True}
    stats = {} if rows is None else {"stats": json.dumps({"numRecords": rows})}
    return {"add": {**known, **stats, "baseRowId": base, "defaultRowCommitVersion": version}}


def mark(value: int) -> dict[str, Any]:
    configuration = json.dumps({"rowIdHighWaterMark": value})
    return {"domainMetadata": {"domain": "delta.rowTracking", "configuration": configuration, "removed": False}}


def info(operation: str) -> dict[str, Any]:
    return {"commitInfo": {"timestamp": 1, "operation": operation, "engineInfo": "an engine"}}


PROTOCOL = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": FEATURES}}


class Kept(PastLog):
    """Knows which commit added each file."""

    def commits_that_added(
        self, files: Sequence[LiveFile], aspect: FileAspect = FileAspect.ROW_IDS
    ) -> dict[str, Addition]:
        return {
            file.path: Addition(
                Commit(file.default_row_commit_version or 0, info("WRITE")["commitInfo"]), {"add": {"path": file.path}}
            )
            for file in files
        }


def audit(rows: int | None = 10, **known: Any) -> HistoryAudit:
    judged = HistoryAudit(Replay(with_files=True), log=Kept(), **known)
    judged.take(0, [info("CREATE TABLE"), PROTOCOL, metadata("integer")])
    judged.take(1, [info("WRITE"), add("a", 0, 1, rows), mark(9)])
    return judged


def told(judged: HistoryAudit) -> dict[str, Finding]:
    return {finding.code: finding for finding in judged.findings() if finding.severity is not Severity.WARNING}


def no_rows(file: LiveFile) -> int | None:
    return file.num_records


def wrong_type(path: str = "a") -> Finding:
    return type_widening.UNREACHABLE_TYPE.found("wrong", path=path, column="c")


def test_finding_of_a_file_gets_the_commit_that_added_it() -> None:
    judged = audit()
    judged.add_file_findings([wrong_type()], no_rows)
    found = told(judged)
    assert list(found) == ["TW16"]
    assert (found["TW16"].version, found["TW16"].engine) == (1, "an engine")


def test_file_that_was_right_until_a_commit_changed_the_type_follows_from_that() -> None:
    judged = audit()
    judged.take(2, [info("CHANGE COLUMN"), metadata("string")])
    judged.add_file_findings([wrong_type()], no_rows)
    found = told(judged)
    assert found["TW08"].version == 2
    assert found["TW16"].caused_by == found["TW08"].fingerprint


def test_counts_of_footers_decide_over_those_of_the_log() -> None:
    for said, code in ((None, "RT06"), (100, "RT07")):
        judged = audit(said)
        assert set(told(judged)) == {code}
        judged.add_file_findings([], lambda file: 10)
        assert told(judged) == {}
        judged.add_file_findings([], lambda file: 11)
        assert set(told(judged)) == {"RT07"}


@pytest.mark.parametrize("marks", [[], [mark(-1)]])
def test_file_without_rows_gives_out_no_ids(marks: list[dict[str, Any]]) -> None:
    judged = HistoryAudit(Replay(with_files=True))
    judged.take(0, [info("CREATE TABLE"), PROTOCOL, metadata("integer")])
    judged.take(1, [info("WRITE"), add("a", 0, 1, 0), *marks])
    judged.take(2, [info("SET TBLPROPERTIES"), metadata("integer")])
    assert told(judged) == {}


def test_count_that_the_footer_confirms_leaves_what_a_commit_did() -> None:
    judged = audit(100)
    judged.take(2, [info("WRITE"), mark(99)])
    judged.add_file_findings([], lambda file: 100)
    assert set(told(judged)) == {"RT07"}


def test_remembered_findings_of_files_are_looked_at_anew() -> None:
    first = audit()
    first.add_file_findings([wrong_type(), data_files.missing_file("a")], no_rows)
    known = first.findings()
    for log in (Kept(), PastLog()):
        again = HistoryAudit(Replay.of(first.state()), first.state(), log, recalled=[*map(OpenViolation.of, known)])
        assert set(told(again)) == {"TW16", "DF01"}
        again.add_file_findings([wrong_type()], no_rows)
        assert told(again) == {"TW16": next(f for f in known if f.code == "TW16")}


def test_files_that_are_counted_are_counted_anew() -> None:
    first = audit()
    first.take(2, [info("WRITE"), add("b", 10, 1, 10), add("c", 20, 1, 10), mark(29)])
    first.add_file_findings(map(wrong_type, "abc"), no_rows)
    known = first.findings()
    assert known[0].message.startswith("wrong 2 more files have the same problem.")
    again = HistoryAudit(Replay.of(first.state()), first.state(), Kept(), recalled=[*map(OpenViolation.of, known)])
    again.add_file_findings(map(wrong_type, "ab"), no_rows)
    assert told(again)["TW16"].message.startswith("wrong 1 more file has the same problem.")


def test_what_commits_did_to_rows_is_handed_on() -> None:
    followed: list[Any] = []
    judged = audit(follow=followed.append)
    judged.take(2, [info("UPDATE"), {"remove": {"path": "a", "dataChange": True}}, add("b", 10, 2, 10), mark(19)])
    assert [(moves.version, [f.path for f in moves.new], len(moves.taken)) for moves in followed] == [
        (1, ["a"], 0),
        (2, ["b"], 1),
    ]


def judged_table(table: Table) -> HistoryAudit:
    judged = HistoryAudit(Replay(with_files=True), log=History(table.commits))
    for version, actions in enumerate(table.commits):
        judged.take(version, actions)
    return judged


def test_file_whose_column_is_another_one_by_now_follows_from_the_commit_that_reused_the_name() -> None:
    case = FIRST["CM16"]
    table = case.before().damaged(case.damage)
    case.step(table)
    judged = judged_table(table)
    judged.add_file_findings([type_widening.UNREACHABLE_TYPE.found("wrong", path=table.paths[0], column="v")], no_rows)
    found = told(judged)
    assert found["TW16"].caused_by == found["CM16"].fingerprint
    assert found["TW16"].version == 1


def test_finding_of_a_deletion_vector_belongs_to_the_commit_that_wrote_the_vector_and_shows_its_action() -> None:
    table = histories.with_vectors()
    path = table.paths[0]
    table.append().mark_deleted(path).append()
    judged = judged_table(table)
    judged.add_file_findings(
        [data_files.unreadable_vector(path, "it is gone"), data_files.damaged_file(path, "no footer")], no_rows
    )
    found = told(judged)
    assert (found["DF02"].version, found["DF04"].version) == (1, table.version - 1)
    assert "deletionVector" in (found["DF04"].action or "")
    assert "deletionVector" not in (found["DF02"].action or "")


def test_finding_of_a_row_count_belongs_to_the_commit_that_wrote_the_count() -> None:
    table = histories.plain()
    wrong = next(iter(table.now.files.values()))
    table.commit("COMPUTE STATS", {"add": {**wrong, "stats": '{"numRecords":7}', "dataChange": False}})
    judged = judged_table(table)
    judged.add_file_findings([data_files.wrong_row_count(wrong["path"], 10, 7)], no_rows)
    assert told(judged)["DF03"].version == table.version
    assert '"numRecords":7' in (told(judged)["DF03"].action or "").replace("\\", "")


@pytest.mark.parametrize(("code", "wrong"), [("AC15", {"size": 1}), ("AC22", {"stats": '{"numRecords":11}'})])
def test_number_that_changed_of_several_files_is_open_until_all_have_the_earlier_one(code: str, wrong: Any) -> None:
    table = histories.plain().append(files=3)
    before = [{**add, "dataChange": False} for add in table.now.files.values()]
    table.commit("COMPUTE STATS", *({"add": {**add, **wrong}} for add in before))
    assert [(f.alike, f.is_open) for f in audited(table.commits) if f.code == code] == [(len(before) - 1, True)]
    for number, add in enumerate(before, 1):
        table.commit("COMPUTE STATS", {"add": add})
        found = [finding for finding in audited(table.commits) if finding.code == code and finding.is_open]
        assert sum(1 + (finding.alike or 0) for finding in found) == len(before) - number


def _remove(add: Any) -> Any:
    known = {key: add[key] for key in ("path", "partitionValues", "size", "deletionVector") if key in add}
    return {"remove": {**known, "deletionTimestamp": 1, "dataChange": True, "extendedFileMetadata": True}}


VECTOR = {"storageType": "i", "pathOrInlineDv": "x", "sizeInBytes": 40, "cardinality": 2}


@pytest.mark.parametrize(
    ("code", "table", "broken"),
    [
        ("AC10", histories.with_vectors, lambda add: {**add, "stats": None, "deletionVector": VECTOR}),
        ("AC21", histories.with_vectors, lambda add: {**add, "deletionVector": VECTOR}),
        ("AC13", histories.vectors_off, lambda add: {**add, "deletionVector": VECTOR}),
        ("LG04", histories.with_vectors, lambda add: {**add, "deletionVector": VECTOR}),
        ("AC23", histories.plain, lambda add: {**add, "path": f"./{add['path']}"}),
        ("AC27", histories.plain, lambda add: {**add, "path": f"_hidden/{add['path']}"}),
    ],
)
def test_damage_of_several_files_is_open_until_the_last_of_them_is_gone(code: str, table: Any, broken: Any) -> None:
    written = table().append(files=3)
    before = list(written.now.files.values())[-3:]
    wrong = [broken(add) for add in before]
    gone = [_remove(add) for add in before if code not in ("AC23", "LG04")]
    written.commit("DELETE", *gone, *({"add": add} for add in wrong))
    for number in range(len(wrong) + 1):
        found = [finding for finding in audited(written.commits) if finding.code == code and finding.is_open]
        assert sum(1 + (finding.alike or 0) for finding in found) == len(wrong) - number
        if number < len(wrong):
            written.commit("DELETE", _remove(wrong[number]))
