"""What commits do to rows and their ids, as values; and what is said of it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from airflow_delta_provider.domain.checks.row_tracking.history import (
    MOST_COMMITS,
    NOT_COMPARABLE,
    bounded,
    lost_version,
    no_such_version,
    unplaced_files,
    unread_files,
    untracked,
)
from airflow_delta_provider.domain.checks.row_tracking.keys import (
    ChangedKey,
    ChangedKeys,
    IdRange,
    find_keys,
    id_ranges,
    inserted_again,
    keys_before,
    moved_keys,
    renumbered_keys,
    repeated_keys,
    unwritten_keys,
)
from airflow_delta_provider.domain.checks.row_tracking.moved_rows import (
    MismatchedRows,
    MovedRow,
    MovedRows,
    RemovedRows,
    check_moved,
    moves_of,
)
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.deletion_vector import DeletionVector
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_state import TableState, Transition
from airflow_delta_provider.domain.report.report import Severity
from tests.unit.states import LEGACY, field, metadata_of, struct

TRACKED = LEGACY.supporting(["rowTracking"])
ENABLED = {"delta.enableRowTracking": "true", "delta.rowTracking.materializedRowIdColumnName": "_row-id-col-1"}
VECTOR = DeletionVector("u", "ab^-aqEH.-t@S}K{vb[*k^", 4, 40, 2)
OTHER_VECTOR = VECTOR._replace(offset=50)
INFO = {"operation": "UPDATE", "engineInfo": "an engine"}


def file(path: str, base: int, version: int = 7, rows: int | None = 10, **known: Any) -> LiveFile:
    return LiveFile(path, 100, base, version, rows, **known)


A, B, NEW = file("a", 0, 1), file("b", 10, 2), file("n", 20)


def transition(
    *adds: LiveFile, before: tuple[LiveFile, ...] = (), version: int = 7, replaces_all: bool = False, **states: Any
) -> Transition:
    def state(configuration: Any, mark: int) -> TableState:
        domains = {"delta.rowTracking": json.dumps({"rowIdHighWaterMark": mark})}
        return TableState(version, TRACKED, metadata_of(struct(field("id", "long")), configuration), domains)

    return Transition(
        state(states.get("was", ENABLED), 19),
        Commit(version, INFO, adds),
        state(states.get("becomes", ENABLED), 49),
        {found.path: found for found in before},
        replaces_all,
    )


MOVES = moves_of(transition(NEW, before=(A,)), ())
ROW = MovedRow(3, "n", 0, 7, 1)


def test_what_a_commit_took_away_is_told_from_its_effect_on_files() -> None:
    kept, shrunk = B._replace(default_row_commit_version=2), A._replace(deletion_vector=VECTOR)
    moves = moves_of(transition(NEW, shrunk, kept, file("r", 5, 3), before=(A, B, file("c", 30))), {"r"})
    assert moves.new == (NEW,)
    assert moves.taken == (RemovedRows(A, shrunk), RemovedRows(file("c", 30)))
    moves = moves_of(transition(NEW, file("r", 5, 3)), (), {"r"})
    assert (moves.new, moves.unplaced) == ((NEW,), (file("r", 5, 3),))
    (finding,) = unplaced_files(moves)
    assert (finding.code, finding.path, finding.version) == ("RT30", "r", 7)
    assert list(unplaced_files(MOVES)) == []


@pytest.mark.parametrize(
    ("taken", "before", "after", "still_there"),
    [
        (RemovedRows(A), 0, 0, 0),
        (RemovedRows(A), 0b0101, 0, 0b0101),
        (RemovedRows(A, A), 0, 0b0010, 0b1101),
        (RemovedRows(A, A), 0b0001, 0b0011, 0b1101),
        (RemovedRows(A, A), 0b0011, 0b0001, 0b1111),
    ],
    ids=["whole", "whole with deleted rows", "one", "one more", "brought back"],
)
def test_rows_taken_from_a_file_are_those_newly_deleted(
    taken: RemovedRows, before: int, after: int, still_there: int
) -> None:
    assert taken.still_there(before, after, 4) == still_there


def test_rows_that_kept_ids_and_versions_give_no_finding() -> None:
    assert list(check_moved(MOVES, MovedRows(kept=3))) == []


@pytest.mark.parametrize("which", ["foreign", "other_version"])
def test_rows_that_did_not_are_named_by_ids_and_places(which: str) -> None:
    (finding,) = check_moved(
        MOVES, MovedRows(1, **{which: MismatchedRows(12, (ROW, replace(ROW, row_id=4, position=1)))})
    )
    assert finding.code == {"foreign": "RT22", "other_version": "RT23"}[which]
    assert (finding.version, finding.engine, finding.operation, finding.path) == (7, "an engine", "UPDATE", "n")
    assert "12 rows" in finding.message
    assert "id 3 at row 0 of n" in finding.message
    assert "id 4 at row 1 of n" in finding.message
    assert ("version 1 before and 7 now" in finding.message) is (which == "other_version")


REPLACED = moves_of(transition(NEW, before=(A, B), replaces_all=True), ())


@pytest.mark.parametrize(
    ("moves", "moved", "codes"),
    [
        (REPLACED, MovedRows(), ["RT24"]),
        (REPLACED, MovedRows(kept=1), []),
        (REPLACED, MovedRows(foreign=MismatchedRows(1, (ROW,))), ["RT22"]),
        (moves_of(transition(NEW, before=(A,)), ()), MovedRows(), []),
        (moves_of(transition(NEW, replaces_all=True), ()), MovedRows(), []),
        (moves_of(transition(before=(A, B), replaces_all=True), ()), MovedRows(), []),
        (moves_of(transition(file("n", 20, rows=0), before=(A,), replaces_all=True), ()), MovedRows(), []),
        (moves_of(transition(file("r", 0, 1), before=(A,), replaces_all=True), {"r"}), MovedRows(), []),
    ],
    ids=["overwrite", "rewrite", "damaged", "a part", "first insert", "delete", "only an empty file", "restore"],
)
def test_commit_that_replaced_all_rows_is_named_by_its_effect(moves: Any, moved: MovedRows, codes: list[str]) -> None:
    assert [finding.code for finding in check_moved(moves, moved)] == codes


def test_time_without_row_tracking_is_undecided_with_the_version_since() -> None:
    off: dict[str, str] = {}
    commits = [transition(version=version) for version in (3, 4, 6)]
    assert list(untracked(2, commits)) == []
    (finding,) = untracked(2, [*commits[:2], transition(version=5, was=off), commits[2]])
    assert (finding.code, finding.version) == ("RT30", 5)
    assert "Compare with version 5 or later" in finding.message


def test_versions_that_cannot_be_compared_say_which_can() -> None:
    assert "the newest version of the table is 3" in no_such_version(9, 3).message
    assert "compared is 5." in lost_version(2, ValueError("commit gone"), 5).message
    assert "earliest" not in lost_version(2, ValueError("commit gone"), None).message
    finding = unread_files(MOVES, "a", 2, "there is no such file")
    assert (finding.code, finding.path, finding.version) == ("RT30", "a", 7)
    assert "2 files" in finding.message


def test_many_commits_of_one_kind_are_summed_up() -> None:
    many = [NOT_COMPARABLE.found("x", version=version) for version in range(MOST_COMMITS + 3)]
    found = list(bounded(NOT_COMPARABLE, many))
    assert found[:-1] == many[:MOST_COMMITS]
    assert "3 more commits have the same problem, in versions 10 to 12." in found[-1].message
    assert list(bounded(NOT_COMPARABLE, many[:2])) == many[:2]


def test_ids_are_told_by_the_commit_that_gave_them_out() -> None:
    first = moves_of(transition(NEW, file("o", 30, rows=5), file("far", 40, rows=1), file("none", 99, rows=0)), ())
    second = moves_of(transition(file("u", 45, 8, rows=None), version=8), ())
    assert id_ranges([first, second]) == [IdRange(20, 35, 7), IdRange(40, 41, 7), IdRange(45, 50, 8)]


def metadata(*fields: Any, mode: str = "none") -> Metadata:
    return metadata_of(struct(*fields), {"delta.columnMapping.mode": mode})


def test_key_columns_are_found_or_refused() -> None:
    now = metadata(field("id", "long"), field("a.b", "string"), field("v", "variant"))
    found, refusals = find_keys(["ID", "`a.b`", "v", "x", "id"], now)
    assert [str(column) for column in found] == ["id", "`a.b`"]
    assert [finding.code for finding in refusals] == ["RQ10", "RQ10", "RQ18"]


def test_key_column_of_before_is_the_same_physical_one_else_the_same_name() -> None:
    def named(name: str, physical: str) -> Any:
        return field(name, "long", delta__columnMapping__physicalName=physical)

    now = metadata(named("new", "col-1"), named("old", "col-2"), named("k", "col-9"), mode="name")
    before = metadata(named("old", "col-1"), named("K", "col-3"), mode="name")
    keys, _ = find_keys(["new", "k"], now)
    found, findings = keys_before(keys, now, before)
    assert [str(column) for column in found] == ["old", "K"]
    assert findings == []
    _, (finding,) = keys_before(find_keys(["x"], metadata(field("x", "long")))[0], metadata(field("x", "long")), before)
    assert (finding.code, finding.column) == ("RT30", "x")


def test_keys_are_named_by_ids_and_places() -> None:
    keys = ChangedKeys(2, (ChangedKey(20, 3, "n", 0), ChangedKey(21, 4, "n", 1)))
    said = [unwritten_keys(keys, 2), renumbered_keys(keys, MOVES), inserted_again(keys, MOVES), moved_keys(keys, 2)]
    assert [finding.code for finding in said] == ["RT29", "RT29", "RT31", "RT31"]
    assert [finding.version for finding in said] == [None, 7, 7, None]
    written = replace(MOVES.transition.commit, info={**INFO, "operation": "WRITE"})
    overwritten = renumbered_keys(keys, MOVES._replace(transition=replace(MOVES.transition, commit=written)))
    assert (overwritten.code, overwritten.severity) == ("RT32", Severity.WARNING)
    for finding in [*said, overwritten]:
        assert "2 keys have another row id" in finding.message
        assert "id 3 became 20 (row 0 of n), id 4 became 21 (row 1 of n)" in finding.message
    assert "1 key is not unique" in repeated_keys(1, 2, 7).message
