from __future__ import annotations

import os

import pytest

from airflow_delta_provider.domain.report.report import Verdict
from tests.tables import log, row_tracking
from tests.tables.row_tracking_files import COMMIT_VERSION, materialized, remove_file, set_materialized
from tests.tables.row_tracking_history import as_of, edit, edit_file, live
from tests.tables.row_tracking_stability import KEYS, files_rewritten, keyed, rewritten

pytestmark = pytest.mark.nightly


def codes(report):
    return [finding.code for finding in report.findings]


def removed_in(path, version):
    """Return the paths that a commit removes."""
    return [action["remove"]["path"] for action in log.commits(path)[version] if "remove" in action]


def test_keys_with_nulls_and_odd_names_are_compared_over_partitions_if_they_are_unique(table, check):
    path = as_of(table(keyed), 3)
    report = check(path, compare_to_version=1, key_columns=KEYS)
    assert (report.verdict, report.findings) == (Verdict.PASS, ())
    assert report.evidence["compare_to_version"] == 1
    report = check(path, compare_to_version=1, key_columns=("p",))
    assert (report.verdict, codes(report)) == (Verdict.UNDETERMINED, ["RT30"])
    assert "2 keys are not unique at version 1 or at version 3" in report.findings[0].message


def test_key_deleted_and_inserted_again_is_named_with_its_ids(table, check):
    path = as_of(table(keyed), 4)
    report = check(path, compare_to_version=1, key_columns=KEYS)
    assert (report.verdict, codes(report)) == (Verdict.PASS, ["RT31"])
    (finding,) = report.findings
    assert (finding.version, finding.operation) == (4, "WRITE")
    new = next(name for name, add in live(path).items() if add["defaultRowCommitVersion"] == 4)
    assert "1 key has" in finding.message
    assert f" of {new}" in finding.message
    assert "n2" not in finding.message


def test_keys_that_an_update_exchanged_are_no_violation(table, check):
    path = as_of(table(keyed), 5)
    report = check(path, compare_to_version=4, key_columns=KEYS)
    assert (report.verdict, codes(report)) == (Verdict.PASS, ["RT31"])
    assert "2 keys have" in report.findings[0].message


def test_key_in_a_part_of_the_table_that_was_overwritten_is_said_and_no_violation(built, check):
    report = check(built(keyed), compare_to_version=5, key_columns=KEYS)
    assert (report.verdict, codes(report)) == (Verdict.PASS, ["RT32"])
    (finding,) = report.findings
    assert (finding.version, finding.engine) == (6, log.last(built(keyed), "commitInfo")["engineInfo"])
    assert "1 key has" in finding.message
    assert check(built(keyed), compare_to_version=5).findings == ()


@pytest.mark.parametrize(
    ("keys", "code", "hint"),
    [
        (("`o``q`",), "RQ10", "Did you mean '`o``k`'"),
        (("m",), "RQ10", "cannot be part of a key"),
        (("p", "P"), "RQ18", "p is named twice"),
    ],
    ids=["unknown", "a map", "twice"],
)
def test_key_that_is_none_is_refused(built, check, keys, code, hint):
    report = check(built(keyed), compare_to_version=5, key_columns=keys)
    assert (report.verdict, codes(report)) == (Verdict.REFUSED, [code])
    assert hint in report.findings[0].message


def test_version_that_does_not_exist_is_refused_with_the_newest(built, check):
    report = check(built(keyed), compare_to_version=7)
    assert (report.verdict, codes(report), report.version) == (Verdict.REFUSED, ["RQ19"], 6)
    assert "the newest version of the table is 6" in report.findings[0].message


def test_version_too_old_for_time_travel_is_compared_all_the_same(table, check):
    path = table(rewritten, deletion_vectors=True)
    age(path)
    report = check(path, compare_to_version=1, key_columns=("id",))
    assert (report.verdict, report.findings) == (Verdict.PASS, ())


def age(path):
    """Let all commits be of a year ago, the times of their files included."""

    def change(kind, body):
        if kind == "commitInfo":
            return {**body, "timestamp": 1_700_000_000_000}
        return {**body, "deletionTimestamp": 1_700_000_000_000} if kind == "remove" else body

    edit(path, change)
    for file in path.glob("_delta_log/*.json"):
        os.utime(file, (1_700_000_000, 1_700_000_000))
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def test_rewrites_that_change_no_data_keep_ids(built, check):
    path = built(files_rewritten)
    assert all(removed_in(path, version) for version in (2, 3, 4))
    report = check(path, compare_to_version=1, key_columns=("id",))
    assert (report.verdict, report.findings) == (Verdict.PASS, ())


@pytest.mark.parametrize("vectors", [True, pytest.param(False, marks=pytest.mark.soak)], ids=["vectors", "no_vectors"])
def test_ids_lost_by_a_rewrite_are_seen_by_the_keys_alone(table, check, vectors):
    path = as_of(table(rewritten, deletion_vectors=vectors), 2)
    written = [name for name, add in live(path).items() if add["defaultRowCommitVersion"] == 2]
    lost = 0
    for name in written:
        ids = materialized(path, name)
        set_materialized(path, name, dict.fromkeys(range(len(ids))))
        lost += len(ids)
    report = check(path, compare_to_version=1, key_columns=("id",))
    found = {finding.code: finding for finding in report.findings}
    assert report.verdict is Verdict.VIOLATED
    if vectors:
        assert list(found) == ["RT29"]
        assert f"{lost} keys have" in found["RT29"].message
    else:  # all files were replaced; but the rows that the UPDATE only moved say that they were not written
        assert list(found) == ["RT24", "RT29"]
        assert f"{lost - 2} keys have" in found["RT29"].message
    assert (found["RT29"].version, found["RT29"].operation) == (2, "UPDATE")


def test_ids_that_an_optimize_changed_are_seen_in_that_commit(table, check):
    path = table(rewritten)
    (file,) = live(path)
    ids = materialized(path, file)
    set_materialized(path, file, {0: ids[0] + 6})  # the id is one that the UPDATE gave out and took no row for
    report = check(path, compare_to_version=2)
    assert (report.verdict, codes(report)) == (Verdict.VIOLATED, ["RT22"])
    (finding,) = report.findings
    assert (finding.version, finding.operation, finding.path) == (3, "OPTIMIZE", file)
    assert f"id {ids[0] + 6} at row 0 of {file}" in finding.message


def test_commit_versions_that_an_optimize_changed_are_seen_in_that_commit(table, check):
    path = table(rewritten)
    (file,) = live(path)
    set_materialized(path, file, {2: 3}, COMMIT_VERSION)
    report = check(path, compare_to_version=2)
    assert (report.verdict, codes(report)) == (Verdict.VIOLATED, ["RT23"])
    assert "and 3 now" in report.findings[0].message


def test_files_that_vacuum_deleted_leave_their_commits_undecided(table, check):
    path = table(rewritten)
    (gone, *_) = removed_in(path, 2)
    remove_file(path, gone)
    report = check(path, compare_to_version=1, key_columns=("id",))
    assert (report.verdict, codes(report)) == (Verdict.UNDETERMINED, ["RT30", "RT30"])
    assert (report.findings[0].version, report.findings[0].path) == (2, gone)
    assert "VACUUM" in report.findings[0].message
    assert check(path, compare_to_version=2, key_columns=("id",)).verdict is Verdict.PASS
    for name in removed_in(path, 3):
        remove_file(path, name)
    report = check(path, compare_to_version=1)
    assert (report.verdict, [finding.version for finding in report.findings]) == (Verdict.UNDETERMINED, [2, 3])
    assert check(path).verdict is Verdict.PASS


@pytest.mark.soak
def test_version_before_row_tracking_was_enabled_is_undecided_with_the_version_since(built, check):
    path = built(row_tracking.enabled_late)
    enabled = max(
        version for version, actions in log.commits(path).items() if any("metaData" in action for action in actions)
    )
    report = check(path, compare_to_version=1, key_columns=("id",))
    assert (report.verdict, codes(report)) == (Verdict.UNDETERMINED, ["RT30"])
    assert report.findings[0].version == enabled
    assert check(path, compare_to_version=enabled, key_columns=("id",)).verdict is Verdict.PASS


@pytest.mark.soak
def test_restored_rows_are_neither_new_nor_foreign(table, check, spark):
    path = as_of(table(keyed), 5)
    spark.sql(f"RESTORE TABLE delta.`{path}` TO VERSION AS OF 1")
    report = check(path, compare_to_version=4, key_columns=KEYS)
    assert (report.verdict, codes(report)) == (Verdict.PASS, ["RT31"])
    assert "RESTORE" in report.findings[0].message


def test_column_that_hides_the_row_ids_leaves_keys_undecided(table, check, spark):
    path = as_of(table(keyed), 2)
    spark.sql(f"ALTER TABLE delta.`{path}` ADD COLUMN _metadata int")
    report = check(path, compare_to_version=1, key_columns=KEYS)
    assert (report.verdict, codes(report)) == (Verdict.UNDETERMINED, ["RT30"])
    assert "_metadata" in report.findings[0].message


def test_renamed_key_is_followed_and_a_new_one_undecided(table, check, spark):
    path = as_of(table(keyed), 2)
    spark.sql(f"ALTER TABLE delta.`{path}` RENAME COLUMN `o``k` TO number")
    spark.sql(f"ALTER TABLE delta.`{path}` ADD COLUMN other int")
    report = check(path, compare_to_version=1, key_columns=("`k.1`", "number"))
    assert (report.verdict, report.findings) == (Verdict.PASS, ())
    report = check(path, compare_to_version=1, key_columns=("other",))
    assert (report.verdict, codes(report), report.findings[0].column) == (Verdict.UNDETERMINED, ["RT30"], "other")


def test_file_without_a_base_is_a_finding_and_no_fault(table, check):
    path = as_of(table(rewritten), 2)
    for file in live(path):
        edit_file(path, file, baseRowId=None)
    report = check(path, compare_to_version=1, key_columns=("id",))
    assert report.verdict is Verdict.VIOLATED
    assert "RT05" in codes(report)
