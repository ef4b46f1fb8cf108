"""Audits that look beyond the log: footers of the live files, and the ids of rows."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from airflow_delta_provider.domain.checks.rule import not_checked
from airflow_delta_provider.domain.report.report import Severity, Status, Verdict
from tests.tables import log, row_tracking
from tests.tables import row_tracking_bad_files as bad_files
from tests.tables import row_tracking_rows as rows
from tests.tables.row_tracking import operations
from tests.tables.row_tracking_files import remove_file, rewrite
from tests.tables.row_tracking_history import as_of, edit_file, edit_statistics, live, settled, with_base
from tests.tables.row_tracking_stability import rewritten

soak = pytest.mark.soak
DEEP = ["footers", "data"]


def errors(report):
    return [(f.code, f.path) for f in report.findings if f.severity is Severity.ERROR]


def codes(report):
    return {finding.code for finding in report.findings}


@pytest.mark.parametrize(
    ("builder", "arguments"),
    [
        (row_tracking.mapped, {"mode": "id"}),
        (row_tracking.widened, {}),
        pytest.param(row_tracking.mapped, {"mode": "name"}, marks=soak),
        pytest.param(row_tracking.cloned, {}, marks=soak),
        pytest.param(row_tracking.enabled_late, {}, marks=soak),
        pytest.param(row_tracking.enabled_again, {}, marks=soak),
        pytest.param(row_tracking.partitioned, {}, marks=soak),
        pytest.param(row_tracking.clustered, {}, marks=soak),
        pytest.param(row_tracking.restored_untracked, {}, marks=soak),
        pytest.param(row_tracking.empty, {}, marks=soak),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_nothing_is_wrong_whatever_the_table(built, audit, builder, arguments):
    for level in DEEP:
        report = audit(built(builder, **arguments), level=level)
        assert (level, report.verdict, report.findings) == (level, Verdict.PASS, ())


def test_every_operation_leaves_files_and_ids_as_the_log_says(built, audit):
    footers, data = (audit(built(operations), level=level) for level in DEEP)
    assert (footers.verdict, codes(footers)) == (data.verdict, codes(data)) == (Verdict.PASS, {"MD08"})
    looked = {"files": 1, "rows": 2, "files_with_materialized_ids": 0, "materialized_ids_read": 0}
    looked |= {"statistics": {"compared": 3, "not_compared": {}}}
    judged = {"first_version": 0, "commits": 15}
    left = [{"not_checked": not_checked(level)} for level in ("footers", "data")]
    assert footers.evidence == {"level": "footers", **judged, **looked, **left[0]}
    assert data.evidence == {"level": "data", **judged, **looked, **left[1], "commits_compared": 1}


def test_moved_rows_of_the_whole_history_are_compared(table, audit):
    report = audit(as_of(table(operations), row_tracking.MOVED), level="data")
    assert (report.verdict, report.findings) == (Verdict.PASS, ())
    # RESTORE went back to before the commits of versions 6 to 8.
    assert report.evidence["commits_compared"] == 4


@pytest.mark.parametrize("level", DEEP)
def test_file_of_another_type_is_named_with_the_commit_that_added_it(table, audit, level):
    path = as_of(table(operations), 5)
    file = with_base(path, 8)

    def change(rows: pa.Table) -> pa.Table:
        return rows.set_column(rows.column_names.index("v"), "v", rows.column("v").cast(pa.int64()))

    rewrite(path, file, change)
    report = audit(path, level=level)
    assert (report.verdict, errors(report)) == (Verdict.VIOLATED, [("TW16", file)])
    (finding,) = report.findings
    assert (finding.column, finding.version, finding.operation) == ("v", 1, "WRITE")
    assert audit(path).findings == ()


def test_file_without_field_ids_is_named_in_mode_id(table, audit):
    path = table(row_tracking.mapped, mode="id")
    file = next(iter(live(path)))

    def strip(rows: pa.Table) -> pa.Table:
        return rows.cast(pa.schema([field.remove_metadata() for field in rows.schema]))

    rewrite(path, file, strip)
    report = audit(path, level="footers")
    assert (report.verdict, errors(report)) == (Verdict.VIOLATED, [("CM18", file)])


@pytest.mark.parametrize(
    ("broken", "levels", "code"),
    [
        (rows.two_materialized, ["data"], "RT19"),
        (bad_files.file_missing, DEEP, "DF01"),
        (bad_files.file_not_parquet, ["footers"], "DF02"),
        (bad_files.more_rows_than_said, ["footers"], "DF03"),
        (rows.id_above_mark, ["footers"], "RT21"),
        pytest.param(bad_files.vector_flipped, ["data"], "DF04", marks=soak),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_damaged_file_is_named(table, audit, broken, levels, code):
    path = table(operations)
    files = broken(path)
    for level in levels:
        report = audit(path, level=level)
        assert (report.verdict, {c for c, _ in errors(report)}) == (Verdict.VIOLATED, {code})
        said = " ".join(f"{finding.path} {finding.message}" for finding in report.findings)
        assert [file for file in files if file not in said] == []
        assert all(finding.version is not None for finding in report.findings)


@pytest.mark.parametrize(
    ("broken", "code"),
    [(rows.fresh_and_materialized, "RT19"), pytest.param(rows.id_above_mark, "RT21", marks=soak)],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_ids_that_a_rewrite_made_up_are_what_others_follow_from(table, audit, broken, code):
    path = table(operations)
    broken(path)
    found = {finding.code: finding for finding in audit(path, level="data").findings}
    assert set(found) == {"RT22", code}
    assert found[code].caused_by == found["RT22"].fingerprint


@pytest.mark.parametrize(
    ("broken", "code", "version"),
    [
        (rows.foreign_id, "RT22", 3),
        pytest.param(rows.foreign_commit_version, "RT23", 6, marks=soak),
        pytest.param(rows.foreign_commit_version_of_an_updated_row, "RT23", 3, marks=soak),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_ids_that_did_not_stay_are_seen_without_a_version_to_compare_with(table, audit, broken, code, version):
    path = table(operations)
    broken(path)
    report = audit(path, level="data")
    assert (report.verdict, codes(report)) == (Verdict.VIOLATED, {code})
    assert {finding.version for finding in report.findings} == {version}
    assert audit(path, level="footers").findings == ()


def test_files_that_are_vacuumed_are_no_finding(table, audit):
    path = table(rewritten)
    for file in {a["remove"]["path"] for commit in log.commits(path).values() for a in commit if "remove" in a}:
        remove_file(path, file)
    report = audit(path, level="data")
    assert (report.verdict, report.findings) == (Verdict.PASS, ())
    assert audit(path, level="data", version=1).findings == ()


def test_row_counts_come_from_footers_where_the_log_has_none_or_wrong_ones(table, audit):
    path = settled(table(operations), 2)
    file = with_base(path, 12)
    edit_statistics(path, file, numRecords=None)
    assert codes(audit(path)) == {"RT06"}
    assert audit(path, level="footers").findings == ()
    edit_file(path, file, stats='{"numRecords": 100}')
    assert codes(audit(path)) == {"RT07"}
    assert codes(audit(path, level="footers")) == {"DF03"}


def test_file_is_looked_at_anew_by_audits_that_remember(table, audit, tmp_path):
    path = as_of(table(operations), 5)
    memory = str(tmp_path / "memory")

    def told():
        report = audit(path, level="footers", state_path=memory)
        return report.evidence["commits"], {f.code: f.status for f in report.findings}

    assert told() == (6, {})
    file = path / with_base(path, 8)
    gone = file.rename(path / "elsewhere")
    assert told() == (0, {"DF01": Status.NEW})
    assert told() == (0, {"DF01": Status.KNOWN})
    log.commit(path, {"commitInfo": {"operation": "nothing"}})
    assert told() == (1, {"DF01": Status.KNOWN})
    gone.rename(file)
    assert told() == (0, {"DF01": Status.RESOLVED})
    assert told() == (0, {})


def test_files_from_before_the_version_to_start_from_are_not_told_of(table, audit):
    path = as_of(table(operations), 5)
    remove_file(path, with_base(path, 8))
    assert audit(path, level="footers", since_version=3).findings == ()
    remove_file(path, with_base(path, 19))
    assert errors(audit(path, level="footers", since_version=3)) == [("DF01", with_base(path, 19))]


def test_many_files_are_traced_to_their_commits_at_once(tmp_path, audit):
    path = tmp_path / "t"
    path.joinpath("_delta_log").mkdir(parents=True)
    schema = {"type": "struct", "fields": [{"name": "c", "type": "long", "nullable": True, "metadata": {}}]}
    first = [
        {"commitInfo": {"operation": "CREATE TABLE"}},
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {
            "metaData": {
                "id": "id",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps(schema),
                "partitionColumns": [],
                "configuration": {},
            }
        },
    ]
    log.log_file(path, 0).write_text("".join(json.dumps(action) + "\n" for action in first))
    common = {"size": 100, "partitionValues": {}, "modificationTime": 1, "dataChange": True}
    for version in (1, 2):
        adds = [{"add": {"path": f"{version}-{n}.parquet", **common}} for n in range(7)]
        log.commit(path, {"commitInfo": {"operation": f"WRITE {version}"}}, *adds)
    (finding,) = audit(path, level="footers").findings
    assert (finding.code, finding.path, finding.version, finding.operation) == ("DF01", "1-0.parquet", 1, "WRITE 1")
    assert "13 more files have the same problem, most recently in version 2." in finding.message


def test_table_that_the_log_does_not_tell_is_not_read(table, audit):
    path = as_of(table(operations), 2)
    protocol = log.last(path, "protocol")
    features = {name: [*protocol[name], "unheardOf"] for name in ("readerFeatures", "writerFeatures")}
    log.commit(path, {"protocol": {**protocol, **features}})
    remove_file(path, with_base(path, 8))
    report = audit(path, level="data")
    assert "DF01" not in codes(report)
    assert "files" not in report.evidence


@pytest.mark.parametrize("broken", ["flip", "remove"])
def test_deletion_vector_that_cannot_be_read_is_named_without_row_tracking(spark, audit, tmp_path, broken):
    path = tmp_path / "t"
    spark.sql(
        f"CREATE TABLE delta.`{path}` USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true') "
        "AS SELECT id FROM range(0, 100, 1, 1)"
    )
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id % 3 = 0")
    assert audit(path, level="data").verdict is Verdict.PASS
    (vector,) = path.glob("deletion_vector_*.bin")
    content = bytearray(vector.read_bytes())
    content[-8] ^= 0xFF
    vector.unlink() if broken == "remove" else vector.write_bytes(content)
    assert audit(path, level="footers").verdict is Verdict.PASS
    (found,) = audit(path, level="data").findings
    assert (found.code, found.version) == ("DF04", 1)


def test_variants_that_delta_shredded_are_fine_until_their_feature_leaves_the_protocol(spark, audit, tmp_path):
    path = tmp_path / "t"
    shredded = "'delta.enableVariantShredding' = 'true'"
    spark.sql(f"CREATE TABLE delta.`{path}` (id BIGINT, v VARIANT) USING delta TBLPROPERTIES ({shredded})")
    spark.sql(f"INSERT INTO delta.`{path}` SELECT id, parse_json('{{\"a\": 1}}') FROM range(100)")
    assert (audit(path, level="footers").verdict, errors(audit(path, level="footers"))) == (Verdict.PASS, [])

    with log.rewritten(path, 0) as actions:
        for action in actions:
            for name in ("readerFeatures", "writerFeatures"):
                listed = action.get("protocol", {}).get(name, [])
                listed[:] = [feature for feature in listed if not feature.startswith("variantShredding")]
    for checksum in (path / "_delta_log").glob("*.crc"):
        checksum.unlink()
    file, *_ = live(path)
    assert ("TF29", file) in errors(audit(path, level="footers"))


def test_files_that_delta_writes_for_iceberg_are_fine_and_older_ones_a_warning(spark, audit, tmp_path):
    for version in (1, 2):
        path = tmp_path / str(version)
        compat = f"'delta.enableIcebergCompatV{version}' = 'true'"
        properties = "'delta.columnMapping.mode' = 'name', 'delta.writePartitionColumnsToParquet' = 'false'"
        columns = "id BIGINT, t TIMESTAMP, p INT"
        columns += ", a ARRAY<STRUCT<m: MAP<INT, ARRAY<INT>>>>" if version == 2 else ""
        nested = ", array(named_struct('m', map(1, array(id))))" if version == 2 else ""
        rows = f"SELECT id, current_timestamp(), id % 2{nested} FROM range(10)"
        created = f"USING delta PARTITIONED BY (p) TBLPROPERTIES ({properties})"
        spark.sql(f"CREATE TABLE delta.`{path}` ({columns}) {created}")
        spark.sql(f"INSERT INTO delta.`{path}` {rows}")
        spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ({compat})")
        spark.sql(f"INSERT INTO delta.`{path}` {rows}")
        report = audit(path, level="footers")
        expected = [("TF30", Severity.WARNING, 2)] if version == 1 else []
        assert [(f.code, f.severity, f.version) for f in report.findings] == expected
        spark.sql(f"UPDATE delta.`{path}` SET id = id + 1")
        assert audit(path, level="footers").findings == ()
