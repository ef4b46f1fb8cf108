from __future__ import annotations

import pyarrow as pa
import pytest

from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.report.report import Verdict, verdict_of
from airflow_delta_provider.domain.request.check_options import LEVELS
from tests.tables import log
from tests.tables import row_tracking_bad_files as bad_files
from tests.tables import row_tracking_damage as damage
from tests.tables import row_tracking_rows as rows
from tests.tables.row_tracking import operations
from tests.tables.row_tracking_history import edit_file, live

pytestmark = pytest.mark.nightly

LOG = {
    "RT01": [damage.feature_missing],
    "RT02": [damage.suspended_as_well],
    "RT03": [damage.names_missing, damage.id_name_missing, damage.commit_version_name_missing],
    "RT04": [damage.name_of_a_column, damage.name_of_a_column_in_another_case, damage.names_of_each_other],
    "RT05": [
        damage.no_base,
        damage.no_commit_version,
        damage.no_base_where_ids_are_materialized,
    ],
    "RT07": [damage.mark_too_low, damage.base_above_mark, damage.mark_too_low_under_a_deletion_vector],
    "RT08": [damage.ranges_overlap, damage.ranges_equal, damage.range_within_another],
    "RT09": [damage.commit_version_in_future],
    "RT10": [
        damage.mark_misnamed,
        damage.mark_null,
        damage.mark_a_text,
        damage.mark_no_json,
        damage.domain_missing,
        damage.domain_removed,
    ],
    "RT14": [damage.added_again_with_another_base, damage.added_again_with_another_commit_version],
    "RT15": [damage.ids_given_out_again],
    "RT16": [damage.commit_version_of_another_commit],
    "RT17": [damage.names_changed],
}
DUPLICATES = [
    rows.fresh_and_materialized,
    rows.under_a_vector_that_does_not_hide_it,
    rows.fresh_in_a_file_with_the_column,
    rows.two_materialized,
    rows.twice_in_a_file,
    rows.twice_in_row_groups,
    rows.null_id_elsewhere,
    rows.all_ids_lost_but_one,
]
IMPOSSIBLE = [rows.id_above_mark, rows.id_far_above_mark, rows.id_negative, rows.id_most_negative]
HARMLESS = [
    rows.hidden_in_the_fresh_file,
    rows.hidden_in_the_materialized_file,
    rows.impossible_but_hidden,
    rows.id_at_mark,
    rows.all_ids_null,
    rows.column_omitted,
]
OTHERWISE = [
    {"row_group_size": 1},
    {"row_group_size": 4, "compression": "zstd", "use_dictionary": False},
    {"compression": "gzip", "data_page_version": "2.0", "write_statistics": False},
    {"compression": "none", "version": "1.0", "data_page_size": 1},
    {"use_dictionary": False, "encoding": "DELTA_BINARY_PACKED"},
]


def assert_found(report, code, files=()):
    assert {finding.code for finding in report.findings} == {code}
    assert report.verdict is verdict_of([RULES[code].severity])
    said = " ".join(f"{finding.path} {finding.message}" for finding in report.findings)
    for file in files:
        assert file in said


def assert_clean(report):
    assert (report.verdict, report.findings) == (Verdict.PASS, ())


def by_name(value):
    return getattr(value, "__name__", None)


@pytest.mark.parametrize(
    ("code", "broken"), [(code, broken) for code, listed in LOG.items() for broken in listed], ids=by_name
)
def test_damaged_log_is_seen_at_every_level_with_this_code_alone(table, check, code, broken):
    path = table(operations)
    files = broken(path)
    for level in LEVELS:
        assert_found(check(path, level), code, files)


def test_file_added_without_ids_is_seen_where_row_tracking_is_supported_only(table, check):
    path = table(operations)
    (file,) = damage.added_without_ids(path)
    for level in LEVELS:
        report = check(path, level)
        assert [(found.code, found.path) for found in report.findings] == [("RT26", None), ("RT13", file)]
        assert report.verdict is Verdict.VIOLATED


def test_file_added_again_without_base_is_said_once_with_the_commit_that_took_it_away(table, check):
    path = table(operations)
    (file,) = damage.added_again_without_base(path)
    for level in LEVELS:
        report = check(path, level)
        assert [(found.code, found.path, found.version) for found in report.findings] == [("RT05", file, 5)]


@pytest.mark.parametrize("preserved", ["false", None])
@pytest.mark.parametrize(("version", "operation"), [(3, "UPDATE"), (4, "MERGE"), (5, "DELETE"), (6, "OPTIMIZE")])
def test_rewrite_that_does_not_vouch_for_its_ids_is_a_warning(table, check, version, operation, preserved):
    path = table(operations)
    if preserved is None and operation == "DELETE":
        pytest.skip("as the others")
    damage.not_preserved(path, version=version, preserved=preserved)
    report = check(path, "log")
    assert_found(report, "RT18")
    assert (report.findings[0].version, report.findings[0].operation) == (version, operation)


@pytest.mark.parametrize("broken", DUPLICATES, ids=by_name)
def test_ids_that_are_not_unique_are_seen_in_the_data_with_the_files_that_have_them(table, check, broken):
    path = table(operations)
    files = broken(path)
    assert_clean(check(path, "log"))
    assert_clean(check(path, "footers"))
    assert_found(check(path), "RT19", files)


@pytest.mark.parametrize("broken", IMPOSSIBLE, ids=by_name)
def test_ids_that_cannot_be_are_seen_in_the_statistics_and_in_the_data(table, check, broken):
    path = table(operations)
    files = broken(path)
    assert_clean(check(path, "log"))
    for level in ("footers", "data"):
        assert_found(check(path, level), "RT21", files)


@pytest.mark.parametrize("unusual", HARMLESS, ids=by_name)
def test_ids_that_only_look_wrong_pass(table, check, unusual):
    path = table(operations)
    unusual(path)
    for level in LEVELS:
        assert_clean(check(path, level))


@pytest.mark.parametrize("options", OTHERWISE, ids=lambda options: "-".join(options))
def test_parquet_files_of_another_writer_pass(table, check, options):
    path = table(operations)
    rows.written_otherwise(path, **options)
    for level in ("footers", "data"):
        assert_clean(check(path, level))


# -- bad files ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("broken", "arguments", "code"),
    [
        (bad_files.file_missing, {}, "DF01"),
        (bad_files.materialized_file_missing, {}, "DF01"),
        (bad_files.file_truncated, {"keep": 600}, "DF02"),
        (bad_files.file_truncated, {"keep": 3}, "DF02"),
        (bad_files.file_truncated, {"keep": 0}, "DF02"),
        (bad_files.file_of_zeros, {}, "DF02"),
        (bad_files.file_not_parquet, {}, "DF02"),
        (bad_files.fewer_rows_than_said, {}, "DF03"),
        (bad_files.more_rows_than_said, {}, "DF03"),
        (bad_files.ids_of_type, {"data_type": pa.string()}, "RT28"),
        (bad_files.ids_of_type, {"data_type": pa.int32()}, "RT28"),
        (bad_files.ids_of_type, {"data_type": pa.float64()}, "RT28"),
        (bad_files.ids_of_type, {"data_type": pa.timestamp("us")}, "RT28"),
        (bad_files.ids_of_type, {"data_type": pa.uint64()}, "RT28"),
    ],
    ids=by_name,
)
def test_file_that_is_not_what_the_log_says_is_seen_in_its_footer(table, check, broken, arguments, code):
    path = table(operations)
    files = broken(path, **arguments)
    assert_clean(check(path, "log"))
    for level in ("footers", "data"):
        assert_found(check(path, level), code, files)


@pytest.mark.parametrize(
    "broken",
    [
        bad_files.vector_missing,
        bad_files.vector_of_a_fresh_file_missing,
        bad_files.vector_flipped,
        bad_files.vector_cut,
    ],
    ids=by_name,
)
def test_deletion_vector_that_does_not_open_is_seen_where_it_is_needed(table, check, broken):
    path = table(operations)
    files = broken(path)
    assert_clean(check(path, "log"))
    assert_clean(check(path, "footers"))
    assert_found(check(path), "DF04", files)


def test_checkpoint_that_contradicts_the_commits_before_it_is_a_violation(table, check, spark):
    path = table(operations)
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.checkpointInterval' = '1')")
    newest = log.newest(path)
    assert log.log_file(path, newest, ".checkpoint.parquet").exists()
    assert check(path).findings == ()
    file, added = next(iter(live(path).items()))
    edit_file(path, file, baseRowId=added["baseRowId"] + 1000)
    report = check(path, "log")
    assert (report.verdict, [(found.code, found.version) for found in report.findings]) == (
        Verdict.VIOLATED,
        [("LG07", newest)],
    )
    assert f"1 live file is with other row ids in the second, the first {file}" in report.findings[0].message
