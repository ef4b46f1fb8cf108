"""Which rows have to be read to compare a commit with the one before, and what findings say of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_delta_provider.domain.checks import paimon_metadata, paimon_rows
from airflow_delta_provider.domain.paimon.changed_rows import ChangedRows, Comparison, Occurrence
from airflow_delta_provider.domain.paimon.manifest import DataFile
from airflow_delta_provider.domain.paimon.row_groups import groups_of
from airflow_delta_provider.domain.paimon.row_rules import (
    ChangedRow,
    FaultyRows,
    MoveCounts,
    MovedKeys,
    Outcome,
    RowFault,
    keeps_identities,
    row_findings,
    with_rows,
)
from airflow_delta_provider.domain.paimon.table_history import LiveState, Step, TableHistory, Vector
from airflow_delta_provider.domain.report.report import Finding, Severity
from tests.tables.paimon.archive import table_of
from tests.unit.paimon_histories import history_of


def deleted(file: DataFile, vector: Vector | None) -> int:
    """As many of the first rows as the vector's range says."""
    return 0 if vector is None else (1 << (vector.range.cardinality or 0)) - 1


def comparisons_of(history: TableHistory) -> dict[int, Comparison]:
    return {found.snapshot.id: found for found in ChangedRows(history, deleted).comparisons()}


@pytest.fixture
def of(paimon_archive: Path) -> Callable[..., dict[int, Comparison]]:
    def find(name: str, since: int | None = None) -> dict[int, Comparison]:
        return comparisons_of(history_of(table_of(paimon_archive, name), since))

    return find


Of = Callable[..., Mapping[int, Comparison]]


def test_appends_and_deletions_of_whole_files_are_not_read(of: Of) -> None:
    kinds = {number: found.snapshot.operation for number, found in of("big/p/final").items()}

    assert set(kinds) == {7, 8, 9, 10, 11, 12, 16, 17, 18, 19, 20, 21}


def test_an_update_is_compared_with_the_files_that_it_took(of: Of) -> None:
    found = of("worked/05_delete")

    assert list(found) == [2, 3]
    sides = [(one.after, one.file.name[5:13]) for one in found[3].occurrences]
    assert sides == [(False, "75a45b37"), (True, "7d4a7fc6"), (True, "f9c3086c")]


def test_a_first_snapshot_has_the_files_that_carry_ids_read_and_compared_with_nothing(of: Of) -> None:
    found = of("big/w1/06_delete", since=4)

    assert [one.file.name[5:13] for one in found[4].occurrences] == ["be092f82", "a99d5966"]
    assert found[4].before is None


def test_a_start_that_was_proven_is_not_read_again(paimon_archive: Path) -> None:
    history = history_of(table_of(paimon_archive, "big/w1/06_delete"), 4)

    assert 4 not in comparisons_of(replace(history, proven=True))
    assert 4 not in comparisons_of(replace(history, judged_start=False))


def test_rows_that_a_deletion_vector_newly_deletes_are_taken_and_no_others(of: Of) -> None:
    [taken, brought] = of("big/dv/04_update")[3].occurrences

    assert (taken.after, taken.file.row_count) == (False, 20)
    assert taken.without == (1 << 20) - 1 & ~0b11110000
    assert brought == Occurrence(brought.file, 2, True, 0)


def test_column_files_are_compared_with_all_files_of_their_rows(of: Of) -> None:
    found = of("big/de/08_merge")

    assert list(found) == [3, 4, 5]
    sides = [(one.after, one.file.name[5:13]) for one in found[4].occurrences]
    assert sides == [
        *((False, name) for name in ("fefec49e", "5cb0c345")),
        *((True, name) for name in ("fefec49e", "5cb0c345", "8061e0a8")),
    ]
    assert {one.file.first_row_id for one in found[5].occurrences} == {10}


def test_what_a_vector_deletes_of_one_column_file_is_deleted_of_all(of: Of) -> None:
    merge = of("big/de3/07_call")[5]
    groups = groups_of([one.file for one in merge.occurrences if one.after])

    assert list(groups) == [(3, 3)]


def test_a_file_that_comes_back_is_known_as_restored(paimon_archive: Path) -> None:
    history = history_of(table_of(paimon_archive, "worked/05_delete"))
    gone = history.steps[0].removed
    again = replace(history.steps[1], added=(*history.steps[1].added, *gone))
    found = comparisons_of(replace(history, steps=(history.steps[0], again)))

    assert (found[2].restored, found[3].restored) == (False, True)


def test_a_file_from_before_the_history_that_takes_no_rows_place_is_known_as_restored(paimon_archive: Path) -> None:
    whole = history_of(table_of(paimon_archive, "worked/05_delete"))
    [old] = [file for file in whole.steps[0].added if file.write_cols]
    start = LiveState(whole.steps[1].snapshot, ())
    back = Step(whole.steps[2].snapshot, (old,), ())
    update = replace(back, removed=whole.steps[2].removed)

    def restored(step: Step) -> bool:
        return comparisons_of(replace(whole, start=start, steps=(step,)))[4].restored

    assert restored(back)
    assert not restored(update)
    assert not restored(replace(back, added=(old._replace(max_sequence=4),)))


ROW = ChangedRow(7, 5, 4, "data-1.parquet", 3)


def outcome(fault: RowFault | None = None, keys: MovedKeys | None = None, **moved: int) -> Outcome:
    faults = {} if fault is None else {fault: FaultyRows(1, (ROW,))}
    return Outcome(MoveCounts(**{"kept": 0, "removed": 0, "new": 0, "same_content": 1, **moved}), faults, keys)


@pytest.mark.parametrize("fault", RowFault)
def test_a_fault_is_told_with_its_commit_its_file_and_the_first_row(of: Of, fault: RowFault) -> None:
    [finding] = row_findings(of("worked/05_delete")[3], outcome(fault), Severity.WARNING)

    assert (finding.version, finding.operation, finding.path) == (3, "MERGE (OVERWRITE)", "data-1.parquet")
    assert "id 7 (sequence number 5 → 4; row 3 of data-1.parquet)" in finding.message
    assert finding.severity is Severity.ERROR


def test_rows_written_anew_with_new_ids_are_told_unless_the_commit_says_that_it_replaces_rows(of: Of) -> None:
    merge = of("worked/05_delete")[3]
    anew = outcome(removed=2, new=2)
    overwrite = replace(merge, snapshot=replace(merge.snapshot, operation="OVERWRITE"))

    [finding] = row_findings(merge, anew, Severity.ERROR)
    assert (finding.code, finding.severity) == ("PD11", Severity.ERROR)
    for comparison, found in [
        (overwrite, anew),
        (merge, outcome(removed=2, new=3)),
        (merge, outcome(removed=2, new=2, kept=1)),
        (merge, outcome(removed=2, new=2, same_content=0)),
        (replace(merge, restored=True), anew),
    ]:
        assert list(row_findings(comparison, found, Severity.ERROR)) == []


def test_keys_tell_more_than_values_do(of: Of) -> None:
    merge = of("worked/05_delete")[3]
    keys = MovedKeys(2, 1, 3, ((0, 9),))

    found = list(row_findings(merge, outcome(removed=2, new=2, keys=keys), Severity.WARNING))

    assert [finding.code for finding in found] == ["PD11", "PD08", "PD14"]
    assert found[0].message.startswith("MERGE wrote the rows of 2 keys again under new row ids")


def test_new_ids_and_lost_rows_of_an_update_are_errors(of: Of) -> None:
    update = of("worked/05_delete")[2]
    delete = replace(update, snapshot=replace(update.snapshot, operation="DELETE"))

    def codes(comparison: Comparison, **moved: int) -> list[tuple[str, Severity]]:
        return [(one.code, one.severity) for one in row_findings(comparison, outcome(**moved), Severity.WARNING)]

    assert codes(update, removed=2, new=2, before=4, after=4) == [("PD15", Severity.ERROR)]
    assert codes(update, removed=1, kept=3, before=4, after=3) == [("PD16", Severity.ERROR)]
    assert codes(update, kept=4, before=4, after=4) == []
    assert codes(delete, removed=2, new=2, before=4, after=4) == [("PD15", Severity.ERROR)]
    assert codes(delete, removed=2, kept=2, before=4, after=2) == []


def test_new_ids_of_a_compaction_are_reassigned_ones_where_values_are_the_same(of: Of) -> None:
    merge = of("worked/05_delete")[3]
    compaction = replace(merge, snapshot=replace(merge.snapshot, commit_kind="COMPACT", operation=None))
    faults = {fault: FaultyRows(2, (ROW,)) for fault in (RowFault.LOST, RowFault.ADDED)}

    def found(*, same: bool, clustered: bool = True) -> Finding:
        moved = MoveCounts(3, 2, 2, same, removed_ids=(0, 1), new_ids=(7, 8))
        comparison = replace(compaction, may_renumber=clustered)
        [finding] = row_findings(comparison, Outcome(moved, faults), Severity.WARNING)
        return finding

    kept, changed, plain = found(same=True), found(same=False), found(same=True, clustered=False)
    assert (plain.code, plain.severity) == ("PD15", Severity.ERROR)
    assert "COMPACT without operation brought 2 rows under new row ids, 7-8" in plain.message
    assert (kept.code, kept.severity) == ("PD11", Severity.WARNING)
    assert "0-1 became 7-8" in kept.message
    assert changed.code == "PD09"
    assert "2 are missing and 0 have other values" in changed.message
    assert "2 rows came out that it did not take" in changed.message


def test_only_tables_with_clustering_data_evolution_or_vectors_have_compactions_that_assign_ids(
    paimon_archive: Path,
) -> None:
    def found(name: str) -> set[bool]:
        return {one.may_renumber for one in comparisons_of(history_of(table_of(paimon_archive, name))).values()}

    assert found("big/p/final") == {False}
    assert found("big/dv/06_call") == found("big/de/08_merge") == {True}


def test_metadata_that_rows_show_in_more_detail_is_left_out() -> None:
    metadata = [paimon_metadata.NOT_AS_STATED.found("It.", version=number) for number in (3, 4)]
    rows = [paimon_rows.NOT_AS_STATED.found("Rows.", version=3)]

    assert [(one.code, one.version) for one in with_rows(metadata, rows, ())] == [("PM23", 4), ("PD17", 3)]


def test_rows_of_a_branch_that_come_with_its_sequence_numbers_are_reassigned(of: Of) -> None:
    merge = of("worked/05_delete")[3]
    snapshot = replace(merge.snapshot, commit_kind="APPEND", operation=None, commit_identifier=0)
    rows = outcome(RowFault.NEW_WITH_OTHER_SEQUENCE, new=1)

    assert [one.code for one in row_findings(replace(merge, snapshot=snapshot), rows, Severity.WARNING)] == ["PD11"]
    assert [one.code for one in row_findings(merge, rows, Severity.WARNING)] == ["PD06"]


def test_a_commit_is_proven_to_keep_rows_by_keys_or_by_other_values_of_maintenance(of: Of) -> None:
    update = of("worked/05_delete")[2]
    unnamed = replace(update, snapshot=replace(update.snapshot, operation=None))

    assert keeps_identities(update, outcome(keys=MovedKeys(0, 0, 0)))
    assert not keeps_identities(update, outcome(keys=MovedKeys(0, 0, 1)))
    assert not keeps_identities(update, outcome(removed=2, new=2, same_content=0))
    assert keeps_identities(unnamed, outcome(removed=2, new=2, same_content=0))
    assert not keeps_identities(unnamed, outcome(removed=2, new=2))
