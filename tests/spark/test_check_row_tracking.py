from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_delta_provider.domain.report.report import Severity, Verdict
from airflow_delta_provider.domain.request.check_options import LEVELS, CheckRowTrackingOptions
from tests.tables import log, protocols, row_tracking
from tests.tables.row_tracking import MOVED, OPERATIONS, ROWS, operations
from tests.tables.row_tracking_history import as_of, edit_statistics, live
from tests.tables.row_tracking_model import Model

STORIES = [
    (row_tracking.without_vectors, {}),
    (row_tracking.partitioned, {}),
    (row_tracking.clustered, {}),
    (row_tracking.mapped, {"mode": "name"}),
    (row_tracking.mapped, {"mode": "id"}),
    (row_tracking.widened, {}),
    (row_tracking.enabled_late, {}),
    (row_tracking.enabled_again, {}),
    (row_tracking.restored_untracked, {}),
    (row_tracking.cloned, {}),
    (row_tracking.written_concurrently, {}),
    (row_tracking.checkpointed, {"kind": "v2"}),
    (row_tracking.checkpointed, {"kind": "struct"}),
    (row_tracking.empty, {}),
]
#: The stories whose files or logs are read in a way of their own; `make soak` checks the tables of all.
AT_ONCE = {"partitioned", "mapped-name", "enabled_late", "restored_untracked", "checkpointed-v2", "empty"}


def name_of(builder, arguments):
    return "-".join([builder.__name__, *arguments.values()])


def stable_ids(spark, path):
    """Return the row id of every row, as Spark reads it."""
    return [row[0] for row in spark.sql(f"SELECT _metadata.row_id FROM delta.`{path}`").collect()]


def stable_ids_by_version(spark, path, versions):
    """Return the row id of every row of some versions, read at once."""
    selects = [f"SELECT {v} AS version, _metadata.row_id AS id FROM delta.`{path}` VERSION AS OF {v}" for v in versions]
    found = {version: [] for version in versions}
    for row in spark.sql(" UNION ALL ".join(selects)).collect():
        found[row["version"]].append(row["id"])
    return found


def codes(report):
    return [finding.code for finding in report.findings]


@pytest.mark.parametrize(
    ("builder", "arguments"),
    [
        pytest.param(*story, id=name_of(*story), marks=[] if name_of(*story) in AT_ONCE else [pytest.mark.soak])
        for story in STORIES
    ],
)
def test_table_that_delta_wrote_passes_at_every_level(built, check, spark, builder, arguments):
    path = built(builder, **arguments)
    before = log.contents(path)
    ids = stable_ids(spark, path)
    assert len(set(ids)) == len(ids)
    for level in LEVELS:
        report = check(path, level)
        assert (level, report.verdict, report.findings) == (level, Verdict.PASS, ())
        assert (report.changed, report.evidence["level"]) == (False, level)
        if level != "log":
            assert report.evidence["rows"] == len(ids)
    assert log.contents(path) == before


@pytest.mark.parametrize(
    "deletion_vectors", [True, pytest.param(False, marks=pytest.mark.soak)], ids=["vectors", "no_vectors"]
)
def test_table_passes_after_every_operation(snapshots, run_job, deletion_vectors):
    paths = snapshots(deletion_vectors)
    assert len(paths) == (len(OPERATIONS) if deletion_vectors else MOVED) + 1
    for level in ("log", "data") if deletion_vectors else ("data",):
        reports = run_job(list(paths.values()), CheckRowTrackingOptions(level=level)).tables
        assert [(report.version, report.verdict, report.findings) for report in reports] == [
            (version, Verdict.PASS, ()) for version in paths
        ]
        if level != "log":
            assert [report.evidence["rows"] for report in reports] == list(ROWS[: len(paths)])


@pytest.mark.parametrize(
    ("builder", "versions"),
    [
        (operations, (5, 8)),  # deletion vectors beside fresh and materialized ids, then all in one file
        pytest.param(operations, range(len(OPERATIONS) + 1), marks=pytest.mark.soak),
        pytest.param(row_tracking.operations_without_vectors, range(MOVED + 1), marks=pytest.mark.soak),
    ],
    ids=["vectors", "vectors-all", "no_vectors-all"],
)
def test_rows_after_an_operation_have_ids_of_their_own_as_spark_reads_them(built, spark, builder, versions):
    ids = stable_ids_by_version(spark, built(builder), versions)
    assert {version: len(found) for version, found in ids.items()} == {version: ROWS[version] for version in versions}
    assert {version: len(set(found)) for version, found in ids.items()} == {v: ROWS[v] for v in versions}


def test_restore_to_before_row_tracking_was_enabled_leaves_it_supported_and_breaks_nothing(table, check):
    path = as_of(table(row_tracking.restored_untracked), 9)
    for level in LEVELS:
        report = check(path, level)
        assert (report.verdict, codes(report)) == (Verdict.UNDETERMINED, ["RT26"])


def test_commits_that_add_nothing_and_files_without_rows_are_no_violation(table, check):
    path = as_of(table(operations), 2)
    (first, *_) = live(path).values()
    for number in range(2):
        name = f"part-0000{number}-empty.snappy.parquet"
        write_empty(path, name)
        add = {
            **first,
            "path": name,
            "size": (path / name).stat().st_size,
            "stats": '{"numRecords":0}',
            "baseRowId": 16,  # the mark is 15, and stays
            "defaultRowCommitVersion": 3 + number,
        }
        log.commit(path, {"commitInfo": {"operation": "WRITE"}}, {"add": add})
    log.commit(path, {"commitInfo": {"operation": "VACUUM END"}})
    for level in LEVELS:
        report = check(path, level)
        assert (report.verdict, report.findings) == (Verdict.PASS, ())


def write_empty(path, name):
    pq.write_table(pa.table({"id": pa.array([], pa.int64())}), path / name)


def test_file_without_row_count_is_undecided_from_the_log_and_decided_from_its_footer(table, check):
    path = as_of(table(operations), 2)
    *_, fresh = live(path)
    edit_statistics(path, fresh, numRecords=None)
    report = check(path, "log")
    assert (report.verdict, codes(report), report.findings[0].path) == (Verdict.UNDETERMINED, ["RT06"], fresh)
    for level in ("footers", "data"):
        report = check(path, level)
        assert (report.verdict, report.findings, report.evidence["rows"]) == (Verdict.PASS, (), 16)


@pytest.mark.parametrize(
    ("builder", "code"),
    [
        (protocols.legacy, "RT25"),
        (protocols.modern, "RT25"),
        (protocols.supported_row_tracking, "RT26"),
        (protocols.suspended_row_tracking, "RT27"),
    ],
    ids=["legacy", "modern", "supported", "suspended"],
)
def test_table_whose_row_ids_cannot_be_relied_upon_is_undecided_with_the_remedy(built, check, builder, code):
    for level in LEVELS:
        report = check(built(builder), level)
        assert (report.verdict, codes(report)) == (Verdict.UNDETERMINED, [code])
        assert report.findings[0].severity is Severity.UNDECIDED
        assert "enable-feature --feature rowTracking (DeltaEnableFeatureOperator)" in report.findings[0].message


def test_table_of_ten_thousand_columns_passes(tmp_path, check):
    model = Model()
    model.insert([3, 3])
    model.update(lambda row_id: row_id in (1, 4), vectors=True)
    model.write(tmp_path / "t", columns=10_000)
    for level in LEVELS:
        report = check(tmp_path / "t", level)
        assert (report.verdict, report.findings) == (Verdict.PASS, ())
