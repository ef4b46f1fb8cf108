"""The rules of row tracking, one healthy table broken in one place at a time."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_delta_provider.domain.checks.row_tracking import MOST_FINDINGS
from airflow_delta_provider.domain.checks.row_tracking.commits import check_commit, suspicious_paths
from airflow_delta_provider.domain.checks.row_tracking.fresh_ids import AssignedIds, DescribedFile
from airflow_delta_provider.domain.checks.row_tracking.live_files import check_files, check_fresh_ids
from airflow_delta_provider.domain.checks.row_tracking.state import check_enabled, check_state
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.deletion_vector import DeletionVector
from airflow_delta_provider.domain.delta.live_file import LiveFile, RemovedFile, num_records
from airflow_delta_provider.domain.delta.packed_files import PackedFiles
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.snapshot import ActionBatch
from airflow_delta_provider.domain.delta.table_state import Replay, TableState, Transition, advance
from airflow_delta_provider.domain.report.report import Finding
from tests.unit.states import LEGACY, field, metadata_of, struct

TRACKED = LEGACY.supporting(["rowTracking"])
IDS, VERSIONS = "_row-id-col-1", "_row-commit-version-col-1"
ENABLED = {
    "delta.enableRowTracking": "true",
    "delta.rowTracking.materializedRowIdColumnName": IDS,
    "delta.rowTracking.materializedRowCommitVersionColumnName": VERSIONS,
}
SUSPENDED = {"delta.rowTrackingSuspended": "true"}
DEAD = DeletionVector("u", "ab^-aqEH.-t@S}K{vb[*k^", 4, 40, 6)


def file(path: str, base: int | None, version: int | None = 1, rows: int | None = 10, **known: Any) -> LiveFile:
    return LiveFile(path, 100, base, version, rows, **known)


A, B = file("a", 0), file("b", 10, 2)


def state(
    *files: LiveFile,
    configuration: Mapping[str, str] = ENABLED,
    protocol: Protocol = TRACKED,
    mark: Any = 19,
    version: int = 3,
    columns: tuple[str, ...] = ("id",),
) -> TableState:
    schema = struct(*(field(name, "long") for name in columns))
    domains = {} if mark is None else {"delta.rowTracking": json.dumps({"rowIdHighWaterMark": mark})}
    return TableState(version, protocol, metadata_of(schema, configuration), domains, {f.key: f for f in files})


def judged(table: TableState) -> list[Finding]:
    tracking = table.row_tracking
    return [
        *check_enabled(tracking),
        *check_state(table, tracking),
        *check_files(table, tracking),
        *check_fresh_ids(table, tracking, lambda f: f.num_records),
    ]


def codes(findings: list[Finding]) -> list[str]:
    return [finding.code for finding in findings]


def test_row_ids_of_sound_files_are_checked_in_few_bytes_each() -> None:
    count = 30_000
    numbers = [number * 7919 % 60_013 for number in range(count)]  # in no order
    columns: dict[str, Any] = {
        "size": [1] * count,
        "baseRowId": [9 * n for n in numbers],
        "defaultRowCommitVersion": [1] * count,
    }
    vector = {"storageType": "u", "pathOrInlineDv": "ab" * 10, "offset": 1, "sizeInBytes": 34, "cardinality": 1}
    columns["deletionVector"] = [vector, *[None] * (count - 1)]
    columns["stats"] = ['{"numRecords": 9}'] * count
    packed = PackedFiles(live=True)
    packed.take(ActionBatch("add", count, {"path": [f"part-{n:060}.parquet" for n in numbers], **columns}))
    table = replace(state(mark=9 * 60_013), files=packed.live())
    assert len(table.files or ()) == count
    tracemalloc.start()
    try:
        assert not judged(table)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 150 * count


def without(name: str) -> dict[str, str]:
    return {key: value for key, value in ENABLED.items() if not key.endswith(name)}


HEALTHY = {
    "two files": state(A, B),
    "an empty table": state(mark=None),
    "a file without rows where the next one begins": state(A, file("empty", 10, rows=0), B),
    "no rows so far, and no mark": state(file("empty", 0, rows=0), mark=None),
    "a file without rows above the mark": state(A, B, file("empty", 20, rows=0)),
    "a file without rows far above the mark": state(A, B, file("empty", 25, rows=0)),
    "rows deleted": state(A._replace(deletion_vector=DEAD), B),
    "a mark above all ids": state(A, B, mark=1000),
}


@pytest.mark.parametrize("table", HEALTHY.values(), ids=HEALTHY)
def test_healthy_table_has_no_finding(table: TableState) -> None:
    assert judged(table) == []


BROKEN = {
    "RT01 enabled without the feature": (state(A, B, protocol=LEGACY), "RT01", "writer 2"),
    "RT02 enabled and suspended": (state(A, B, configuration=ENABLED | SUSPENDED), "RT02", "rowTrackingSuspended"),
    "RT03 no name for ids": (state(A, B, configuration=without("RowIdColumnName")), "RT03", "RowIdColumnName is"),
    "RT03 no name at all": (state(A, B, configuration=without("ColumnName")), "RT03", "are missing"),
    "RT04 a column's name": (state(A, B, columns=("id", IDS.upper())), "RT04", IDS),
    "RT05 no base": (state(file("a", None), B), "RT05", "baseRowId is missing on 1 live file: a"),
    "RT05 no commit version": (
        state(file("a", 0, None), B),
        "RT05",
        "defaultRowCommitVersion is missing on 1 live file: a",
    ),
    "RT06 no statistics": (state(A, file("b", 10, rows=None)), "RT06", "lack numRecords"),
    "RT07 above the mark": (
        state(A, B, mark=18),
        "RT07",
        "mark of row ids is 18, but ids above it, up to 19",
    ),
    "RT08 the same ids": (state(A, file("b", 9), mark=100), "RT08", "both assign the row id 9."),
    "RT09 a later commit": (state(A, file("b", 10, 4)), "RT09", "defaultRowCommitVersion above 3, the"),
    "RT10 no mark": (state(A, B, mark=None), "RT10", "there is no domainMetadata"),
    "RT10 no number": (state(A, B, mark="19"), "RT10", "not a number"),
    "RT21 a negative base": (state(file("a", -5, rows=4), B), "RT21", "the first one -5"),
    "RT25 no row tracking": (state(file("a", None), configuration={}, protocol=LEGACY), "RT25", "no row tracking"),
    "RT26 supported only": (state(A, file("b", None, None), configuration={}), "RT26", "not enabled"),
    "RT27 suspended": (state(A, file("b", None, None), configuration=SUSPENDED), "RT27", "suspended"),
    "LG04 live twice": (state(A, A._replace(deletion_vector=DEAD), B), "LG04", "more than one deletion vector"),
}


@pytest.mark.parametrize(("table", "code", "words"), BROKEN.values(), ids=BROKEN)
def test_broken_table_has_one_finding_that_says_what(table: TableState, code: str, words: str) -> None:
    findings = judged(table)
    assert codes(findings) == [code]
    assert words in findings[0].message


def test_ids_of_supported_table_are_judged_though_nobody_may_rely_on_them() -> None:
    assert codes(judged(state(A, file("b", 5), configuration={}))) == ["RT26", "RT08"]


def test_overlap_is_found_behind_a_file_inside_a_larger_one() -> None:
    table = state(file("large", 0, rows=100), file("small", 10, rows=5), file("late", 50, rows=5), mark=200)
    assert [finding.path for finding in judged(table)] == ["small", "late"]


def test_many_overlaps_are_counted_after_the_first() -> None:
    files = [file(f"f{number}", 0) for number in range(30)]
    findings = judged(state(*files))
    assert codes(findings) == ["RT08"] * (MOST_FINDINGS + 1)
    assert findings[-1].message.startswith("19 more files")


def test_materialized_names_that_are_one_name_collide() -> None:
    same = ENABLED | {"delta.rowTracking.materializedRowCommitVersionColumnName": IDS}
    assert codes(judged(state(A, B, configuration=same))) == ["RT04"]


def test_materialized_name_collides_with_physical_name_of_mapped_column() -> None:
    table = state(A, B, configuration=ENABLED | {"delta.columnMapping.mode": "name"})
    mapped = struct(field("id", "long", delta__columnMapping__physicalName=IDS))
    findings = judged(replace(table, metadata=metadata_of(mapped, table.metadata.configuration)))
    assert [(finding.code, finding.column) for finding in findings] == [("RT04", "id")]


@pytest.mark.parametrize(
    ("stats", "expected"),
    [
        ('{"numRecords":7,"minValues":{}}', 7),
        ('{"minValues":{"numRecords":1},"numRecords":7}', 7),
        ('{"minValues":{"numRecords":1}}', None),
        ('{"numRecords":-1}', None),
        ('{"numRecords":"7"}', None),
        ("[]", None),
        ("no json", None),
        (None, None),
        (7, 7),
    ],
)
def test_number_of_rows_in_statistics(stats: Any, expected: int | None) -> None:
    assert num_records(stats) == expected


def commit(*adds: LiveFile, removes: tuple[RemovedFile, ...] = (), version: int = 4, **info: Any) -> Commit:
    return Commit(version, {"engineInfo": "Some-Engine/1.0", "operation": "WRITE", **info}, adds, removes)


def transition(made: Commit, before: TableState | None = None, **after: Any) -> Transition:
    """One commit on a table of the files a and b."""
    before = before or state(A, B)
    live = before.files or {}
    known = {f.path: live[f.key] for f in (*made.removes, *made.adds) if f.key in live}
    return Transition(before, made, state(version=made.version, **after), known)


def removed(file: LiveFile) -> RemovedFile:
    return RemovedFile(file.path, file.base_row_id, file.default_row_commit_version, file.deletion_vector)


GONE = (removed(A),)
KEPT = {"tags": {"delta.rowTracking.preserved": "true"}}
QUIET = {
    "an insert": transition(commit(file("c", 20, 4))),
    "an update that keeps ids": transition(commit(file("c", 20, 4), removes=GONE, operation="UPDATE", **KEPT)),
    "rows deleted by a vector": transition(
        commit(A._replace(deletion_vector=DEAD), removes=GONE, operation="DELETE", **KEPT)
    ),
    "whole files deleted": transition(commit(removes=GONE, operation="DELETE")),
    "ids filled in": transition(commit(file("a", 20, 4)), state(file("a", None, None), B)),
    "ids taken away while suspended": transition(
        commit(file("a", None, None)), state(A, B, configuration=SUSPENDED), configuration=SUSPENDED
    ),
    "ids given anew where nobody may rely on them": transition(
        commit(file("a", 20, 4), operation="RESTORE"), configuration={}
    ),
    "ids taken away, which RT05 says of the state": transition(commit(file("a", None))),
    "no row tracking": transition(commit(file("c", None, None)), protocol=LEGACY, configuration={}),
    "a first life of the feature": transition(
        commit(file("a", 0, 4)), state(file("a", 77), protocol=LEGACY, configuration={}, mark=None)
    ),
}


@pytest.mark.parametrize("made", QUIET.values(), ids=QUIET)
def test_commit_as_it_should_be_has_no_finding(made: Transition) -> None:
    assert list(check_commit(made, ())) == []


OTHER = ENABLED | {"delta.rowTracking.materializedRowIdColumnName": "_row-id-col-2"}
WRONG = {
    "RT13 without ids": (transition(commit(file("c", None, None)), configuration={}), "RT13", "ERROR"),
    "RT14 another base": (transition(commit(file("a", 20))), "RT14", "ERROR"),
    "RT14 another version": (transition(commit(file("a", 0, 4))), "RT14", "ERROR"),
    "RT15 ids again": (transition(commit(file("c", 19, 4))), "RT15", "ERROR"),
    "RT16 version of another commit": (transition(commit(file("c", 20, 3))), "RT16", "ERROR"),
    "RT17 another column": (transition(commit(), configuration=OTHER), "RT17", "WARNING"),
    "RT18 nothing said": (transition(commit(file("c", 20, 4), removes=GONE, operation="MERGE")), "RT18", "WARNING"),
    "RT18 not kept": (
        transition(
            commit(file("c", 20, 4), removes=GONE, operation="OPTIMIZE", tags={"delta.rowTracking.preserved": "false"})
        ),
        "RT18",
        "WARNING",
    ),
}


@pytest.mark.parametrize(("made", "code", "severity"), WRONG.values(), ids=WRONG)
def test_wrong_commit_has_one_finding_that_names_it(made: Transition, code: str, severity: str) -> None:
    (finding,) = check_commit(made, ())
    assert (finding.code, finding.severity.value) == (code, severity)
    assert (finding.version, finding.engine) == (4, "Some-Engine/1.0")


def test_file_that_an_earlier_commit_added_may_come_back_with_its_ids() -> None:
    back = transition(commit(file("old", 3, 1), operation="RESTORE"))
    assert suspicious_paths(back) == ["old"]
    assert list(check_commit(back, {"old"})) == []
    assert codes(list(check_commit(back, ()))) == ["RT15", "RT16"]


def test_materialized_names_may_change_where_every_file_is_replaced() -> None:
    made = transition(commit(file("c", 20, 4), removes=(removed(A), removed(B))), configuration=OTHER)
    assert codes(list(check_commit(made, ()))) == ["RT17"]
    assert list(check_commit(replace(made, replaces_all=True), ())) == []


def actions(*adds: LiveFile, removes: tuple[LiveFile, ...] = ()) -> list[dict[str, Any]]:
    def body(f: LiveFile) -> dict[str, Any]:
        vector = f.deletion_vector
        wire = vector and {
            "storageType": vector.storage_type,
            "pathOrInlineDv": vector.path_or_inline,
            "offset": vector.offset,
            "sizeInBytes": vector.size_in_bytes,
            "cardinality": vector.cardinality,
        }
        return {"path": f.path, "size": f.size, "baseRowId": f.base_row_id, "deletionVector": wire}

    return [*({"add": body(f)} for f in adds), *({"remove": body(f)} for f in removes)]


def replay() -> Replay:
    taken = Replay(with_files=True)
    schema = '{"type":"struct","fields":[]}'
    taken.take(
        [
            {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
            {"metaData": {"schemaString": schema}},
            *actions(A, B),
        ]
    )
    return taken


@pytest.mark.parametrize("turned", [False, True])
def test_transition_knows_what_was_live_whatever_the_order_of_actions(turned: bool) -> None:
    hidden = A._replace(deletion_vector=DEAD)
    made = actions(hidden, file("c", 20), removes=(A,))
    known = replay()
    result = advance(known, 1, made[::-1] if turned else made)
    assert set(result.before_files) == {"a"}
    assert [new.path for new in result.new_files] == ["c"]
    assert set(known.files) == {hidden.key, B.key, ("c", "")}
    assert not result.replaces_all


@pytest.mark.parametrize(("gone", "all_gone"), [((A, B), True), ((A,), False)])
def test_transition_that_removes_every_file_replaces_all(gone: tuple[LiveFile, ...], all_gone: bool) -> None:
    assert advance(replay(), 1, actions(file("c", 20), removes=gone)).replaces_all is all_gone


@given(st.lists(st.tuples(st.integers(0, 60), st.none() | st.integers(0, 9))), st.integers(-5, 70), st.integers(0, 9))
def test_assigned_ids_are_those_of_any_earlier_file(earlier, base, rows):
    files = [DescribedFile("f", 1, start, 1, number) for start, number in earlier]
    known = {id for start, number in earlier for id in range(start, 100 if number is None else start + number)}
    new = DescribedFile("new", 1, base, 1, rows)
    has = base < 0 or not known or not known.isdisjoint(range(base, base + max(rows, 1)))
    ids = AssignedIds(lambda after, version: files[after + 1 : version + 1])
    ids.has(new, len(files) // 2)
    assert ids.has(new, len(files)) == has
