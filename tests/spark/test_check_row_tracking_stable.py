from __future__ import annotations

import pytest

from airflow_delta_provider.domain.report.report import Severity, Verdict
from tests.tables import row_tracking
from tests.tables import row_tracking_rows as rows
from tests.tables.row_tracking import MOVED, operations

#: Long histories; test_row_tracking_stability judges shorter ones in every run.
pytestmark = pytest.mark.soak


def codes(report):
    return [finding.code for finding in report.findings]


@pytest.mark.parametrize(
    "deletion_vectors", [True, pytest.param(False, marks=pytest.mark.soak)], ids=["vectors", "no_vectors"]
)
def test_ids_are_stable_over_every_operation_that_moves_rows(snapshots, check, deletion_vectors):
    path = snapshots(deletion_vectors)[MOVED]
    for version, keys in ((0, ()), (2, ("id",)), (MOVED, ("id",))):
        report = check(path, compare_to_version=version, key_columns=keys)
        assert (version, report.verdict, report.findings) == (version, Verdict.PASS, ())


@pytest.mark.parametrize("keys", [(), ("id",)], ids=["rows", "keys"])
@pytest.mark.parametrize("version", [10, 12])
def test_rows_replaced_as_a_whole_are_named_and_no_violation(snapshots, check, version, keys):
    report = check(snapshots(True)[version], compare_to_version=version - 1, key_columns=keys)
    assert (report.verdict, codes(report)) == (Verdict.PASS, ["RT24"])
    assert (report.findings[0].severity, report.findings[0].version) == (Severity.WARNING, version)


def test_key_that_was_deleted_and_inserted_again_is_another_row_and_no_violation(snapshots, check):
    report = check(snapshots(True)[14], compare_to_version=12, key_columns=("id",))
    assert (report.verdict, codes(report)) == (Verdict.PASS, ["RT31"])


@pytest.mark.parametrize(
    ("builder", "arguments", "version", "keys"),
    [
        (row_tracking.partitioned, {}, 0, ("id", "name")),
        (row_tracking.mapped, {"mode": "name"}, 1, ("id",)),
        (row_tracking.widened, {}, 1, ("id",)),
        (row_tracking.cloned, {}, 0, ("id",)),
        (row_tracking.checkpointed, {"kind": "v2"}, 3, ("id",)),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_ids_are_stable_whatever_the_table(built, check, builder, arguments, version, keys):
    report = check(built(builder, **arguments), compare_to_version=version, key_columns=keys)
    assert (report.verdict, report.findings) == (Verdict.PASS, ())


@pytest.mark.parametrize(
    ("builder", "arguments", "version", "earliest"),
    [
        (row_tracking.enabled_late, {}, 1, 7),
        (row_tracking.enabled_again, {}, 1, 9),
        (row_tracking.checkpointed, {"kind": "v2"}, 2, 3),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_version_that_nobody_can_compare_with_is_undecided_and_says_with_which(
    built, check, builder, arguments, version, earliest
):
    report = check(built(builder, **arguments), compare_to_version=version, key_columns=("id",))
    assert (report.verdict, codes(report)) == (Verdict.UNDETERMINED, ["RT30"])
    assert str(earliest) in report.findings[0].message


def test_version_that_is_not_there_yet_is_refused(built, check):
    report = check(built(operations), compare_to_version=99)
    assert (report.verdict, codes(report)) == (Verdict.REFUSED, ["RQ19"])


@pytest.mark.parametrize(
    ("broken", "since", "keys", "code", "version"),
    [
        (rows.foreign_id, 2, (), "RT22", 3),
        (rows.foreign_commit_version, 5, (), "RT23", 6),
        (rows.foreign_commit_version_of_an_updated_row, 2, (), "RT23", 3),
        (rows.ids_swapped, 5, ("id",), "RT29", None),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_ids_that_did_not_stay_are_seen_since_a_version_alone(table, check, broken, since, keys, code, version):
    path = table(operations)
    files = broken(path)
    assert check(path).findings == ()
    report = check(path, compare_to_version=since, key_columns=keys)
    assert (report.verdict, set(codes(report))) == (Verdict.VIOLATED, {code})
    if version is not None:
        assert {found.path for found in report.findings} == set(files)
        assert {found.version for found in report.findings} == {version}
