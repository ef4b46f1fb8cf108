"""Audits at level footers of tables whose files PyArrow wrote: the commit that wrote what is wrong is found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_delta_provider.domain.delta.data_type import StructField
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.report.report import Finding, Severity, TableReport, Verdict
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.audit.data_level import check_vectors
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.process import TimeBudget
from airflow_delta_provider.jobs.run.runner import run
from tests.unit.checkpoint_builder import as_parquet, classic_name, reconciled
from tests.unit.command_line.tables import write
from tests.unit.damages.histories import KEY, V, iceberg_nested
from tests.unit.log_builder import Table
from tests.unit.mapped_tables import ID, MODE, NAME
from tests.unit.states import field

ROWS = 10
LEGACY = {"use_deprecated_int96_timestamps": True}


def audit(path: Path, table: Table, *files: pa.Schema | tuple[pa.Schema, dict[str, Any]]) -> TableReport:
    """Write a table, whose commits add one file each, and judge it.

    :param files: their schemas, in the order in which they were added, with options of how they are written
    """
    path.mkdir()
    for add, file in zip(added(table), files, strict=True):
        schema, options = file if isinstance(file, tuple) else (file, {})
        rows = pa.table({each.name: pa.nulls(ROWS, each.type) for each in schema}, schema=schema)
        pq.write_table(rows, path / add["path"], **options)
        add |= {"size": (path / add["path"]).stat().st_size, "stats": json.dumps({"numRecords": ROWS})}
    write(path, table)
    return footers(path)


def footers(path: Path) -> TableReport:
    (report,) = run(JobRequest((str(path),), AuditOptions(level="footers")), python_session()).tables
    return report


def added(table: Table) -> list[dict[str, Any]]:
    return [action["add"] for actions in table.commits for action in actions if "add" in action]


def told(report: TableReport) -> list[tuple[str, Severity, int | None]]:
    return [(finding.code, finding.severity, finding.version) for finding in report.findings]


def only(report: TableReport) -> Finding:
    (finding,) = report.findings
    return finding


# -- timestamps ------------------------------------------------------------------------------------


def timestamps(data_type: str) -> Table:
    return Table(KEY, field("t", data_type), features=["timestampNtz"]).append().append().append()


def stored(unit: str, zone: str | None) -> pa.Schema:
    return pa.schema([("id", pa.int64()), ("t", pa.timestamp(unit, zone))])


def test_local_times_that_a_file_calls_instants_are_an_error_of_the_commit_that_added_it(tmp_path):
    report = audit(tmp_path / "t", timestamps("timestamp_ntz"), *_second(stored("us", None), stored("us", "UTC")))
    assert told(report) == [("DF11", Severity.ERROR, 2)]
    assert (only(report).column, report.verdict) == ("t", Verdict.VIOLATED)


def test_instants_that_a_file_calls_local_times_are_a_warning_as_trino_writes_them(tmp_path):
    report = audit(tmp_path / "t", timestamps("timestamp"), *_second(stored("us", "UTC"), stored("ms", None)))
    assert told(report) == [("DF11", Severity.WARNING, 2)]
    assert report.verdict is Verdict.PASS


def test_nanoseconds_are_an_error_of_the_commit_that_added_the_file(tmp_path):
    report = audit(tmp_path / "t", timestamps("timestamp"), *_second(stored("us", "UTC"), stored("ns", "UTC")))
    assert told(report) == [("TW16", Severity.ERROR, 2)]


def test_timestamps_in_every_form_that_readers_know_are_fine(tmp_path):
    schemas = {
        "timestamp": (stored("us", "UTC"), stored("ms", "Europe/Berlin"), stored("s", "UTC")),
        "timestamp_ntz": (stored("us", None), stored("ms", None), stored("s", None)),
    }
    for data_type, of_type in schemas.items():
        assert told(audit(tmp_path / data_type, timestamps(data_type), *of_type)) == []
        int96 = [(schema, LEGACY) for schema in of_type]
        assert told(audit(tmp_path / f"{data_type}96", timestamps(data_type), *int96)) == []


def _second(right: pa.Schema, wrong: pa.Schema) -> tuple[pa.Schema, ...]:
    return right, wrong, right


# -- compatibility with Iceberg --------------------------------------------------------------------

#: Field ids of the columns of row tracking.
RESERVED = (2147483540, 2147483539)
P, T = field("p", "integer"), field("t", "timestamp")
INT64 = {"t": pa.timestamp("us", "UTC")}
#: As INT96, if it is written with :data:`LEGACY`.
INT96 = {"t": pa.timestamp("ns")}


def iceberg(version: int, *columns: StructField, late: bool = False) -> Table:
    """A partitioned table with three files, the second of which version 2 or, if it is enabled late, 3 adds."""
    properties, compat = {MODE: "name"}, f"delta.enableIcebergCompatV{version}"
    features = ["columnMapping", f"icebergCompatV{version}"]
    if version == 3:
        features.append("rowTracking")
        properties["delta.enableRowTracking"] = "true"
    if late:
        table = Table(*columns, features=features, properties=properties, partition_by=["p"]).append()
        return table.set_properties(**{compat.replace(".", "__"): "true"}).append().append()
    properties[compat] = "true"
    return Table(*columns, features=features, properties=properties, partition_by=["p"]).append().append().append()


def in_file(table: Table, *names: str, **types: pa.DataType) -> pa.Schema:
    """The schema of a file with columns of a table, in this order, under physical names and with their ids.

    :param types: of columns that are no integers
    """
    wires = {wire["name"]: wire["metadata"] for wire in table.schema["fields"]}
    arrow = {"id": pa.int64(), **types}
    return pa.schema([of_id(wires[n][NAME], arrow.get(n, pa.int32()), wires[n][ID]) for n in names])


def of_id(name: str, data_type: pa.DataType, number: int | None) -> pa.Field:
    return pa.field(name, data_type, metadata=None if number is None else {"PARQUET:field_id": str(number)})


@pytest.mark.parametrize("version", [1, 2, 3])
def test_file_without_partition_columns_is_an_error_of_the_commit_that_wrote_it(tmp_path, version):
    table = iceberg(version, KEY, V, P)
    right, wrong = in_file(table, "id", "v", "p"), in_file(table, "id", "v")
    report = audit(tmp_path / "t", table, *_second(right, wrong))
    assert told(report) == [("TF30", Severity.ERROR, 2)]
    assert (only(report).column, only(report).subject) == ("p", f"icebergCompatV{version}")


def test_file_without_partition_columns_is_an_error_if_they_are_to_be_materialized(tmp_path):
    plain = Table(KEY, V, P, partition_by=["p"]).append()
    table = plain.support("materializePartitionColumns").append().append()
    right = pa.schema([("id", pa.int64()), ("v", pa.int32()), ("p", pa.int32())])
    without = pa.schema([("id", pa.int64()), ("v", pa.int32())])
    assert told(audit(tmp_path / "older", table, without, right, right)) == []
    report = audit(tmp_path / "late", table, without, right, without)
    assert told(report) == [("TF30", Severity.ERROR, 4)]
    assert (only(report).column, only(report).subject) == ("p", "materializePartitionColumns")


@pytest.mark.parametrize("late", [False, True])
def test_columns_of_row_tracking_have_the_ids_that_iceberg_reserves_under_the_third_version(tmp_path, late):
    table = iceberg(3, KEY, V, P, late=late)
    plain = in_file(table, "id", "v", "p")
    names = [
        table.configuration[f"delta.rowTracking.materialized{of}ColumnName"] for of in ("RowId", "RowCommitVersion")
    ]
    wrong, right = (
        pa.schema([*plain, *(of_id(name, pa.int64(), number) for name, number in zip(names, numbers, strict=True))])
        for numbers in ((None, 9), RESERVED)
    )
    report = audit(tmp_path / "t", table, wrong, right, plain)  # late, the first file is older than the version
    found = [one for one in report.findings if one.code == "TF30"]
    assert [(one.version, one.column) for one in found] == ([] if late else [(1, name) for name in names])


def test_partition_columns_before_data_columns_are_an_error_under_the_first_version_only(tmp_path):
    for version, codes in ((1, [("TF30", Severity.ERROR, 2)]), (2, [])):
        table = iceberg(version, KEY, V, P)
        schemas = _second(in_file(table, "id", "v", "p"), in_file(table, "id", "p", "v"))
        assert told(audit(tmp_path / str(version), table, *schemas)) == codes


def test_file_from_before_the_first_version_was_enabled_is_a_warning_about_the_commit_that_did(tmp_path):
    table = iceberg(1, KEY, V, P, late=True)
    right, wrong = in_file(table, "id", "v", "p"), in_file(table, "id", "v")
    report = audit(tmp_path / "t", table, wrong, right, right)
    assert told(report) == [("TF30", Severity.WARNING, 2)]
    assert "older than the commit that enabled icebergCompatV1" in only(report).message
    assert "delta.enableIcebergCompatV1" in (only(report).action or "")


def test_file_from_before_the_second_version_was_enabled_is_fine(tmp_path):
    table = iceberg(2, KEY, T, P, late=True)
    right = in_file(table, "id", "t", "p", **INT64)
    old = (in_file(table, "id", "t", **INT96), LEGACY)
    assert told(audit(tmp_path / "t", table, old, right, right)) == []
    table = iceberg(2, KEY, T, P, late=True)
    right = in_file(table, "id", "t", "p", **INT64)
    late = (in_file(table, "id", "t", "p", **INT96), LEGACY)
    assert told(audit(tmp_path / "late", table, right, late, right)) == [("TF30", Severity.ERROR, 3)]


def test_files_of_which_the_log_no_longer_says_when_they_were_written_are_undecided(tmp_path):
    for version, severity in ((1, Severity.WARNING), (2, Severity.UNDECIDED)):
        table = iceberg(version, KEY, V, P)
        right, wrong = in_file(table, "id", "v", "p"), in_file(table, "id", "v")
        path = tmp_path / str(version)
        audit(path, table, *_second(right, wrong))
        log = path / "_delta_log"
        (log / classic_name(3)).write_bytes(as_parquet(reconciled(table.commits)))
        for number in range(3):
            (log / f"{number:020d}.json").unlink()
        assert [(f.code, f.severity) for f in footers(path).findings if f.code != "LG01"] == [("TF30", severity)]


def test_ids_of_elements_keys_and_values_are_in_files_under_the_second_version(tmp_path):
    wrong = {"none": (None, 4, 5), "other": (3, 14, 5), "exchanged": (3, 5, 4)}
    for name, numbers in wrong.items():
        table = iceberg_nested()
        right = nested_file(table, 3, 4, 5)
        report = audit(tmp_path / name, table, right, nested_file(table, *numbers))
        assert {(f.code, f.severity, f.version) for f in report.findings} == {("TF30", Severity.ERROR, 1)}
    table = iceberg_nested()
    assert told(audit(tmp_path / "right", table, *(2 * [nested_file(table, 3, 4, 5)]))) == []


def nested_file(table: Table, element: int | None, key: int | None, value: int | None) -> pa.Schema:
    """A file of :func:`iceberg_nested`, with these field ids below its array."""
    pairs = pa.map_(
        of_id("key", pa.int32(), key).with_nullable(False), of_id("value", pa.int32(), value), keys_sorted=False
    )
    return in_file(table, "id", "a", a=pa.list_(of_id("element", pairs, element)))


@pytest.mark.parametrize(("version", "problem"), [(1, None), (0, "format version 0, not 1"), (2, "format version 2")])
@pytest.mark.parametrize("offset", [1, 47])
def test_format_version_of_a_file_of_deletion_vectors_is_checked(tmp_path, version, problem, offset):
    one = "00000026d1d339640100000000000000000000003a30000001000000000002001000000001000200e7031763fa88"
    (tmp_path / "v.bin").write_bytes(bytes([version]) + bytes.fromhex(one) * 2)
    wire = {"storageType": "p", "pathOrInlineDv": f"file:{tmp_path}/v.bin", "sizeInBytes": 38, "cardinality": 3}
    add = {"path": "a.parquet", "partitionValues": {}, "size": 9, "modificationTime": 1, "dataChange": True}
    files = [LiveFile.from_add({**add, "deletionVector": {**wire, "offset": offset}})] * 2

    found = list(
        check_vectors(python_session().data_files(f"file:{tmp_path}"), files, lambda _: 1000, TimeBudget(None))
    )

    assert {finding.code for finding in found} == ({"DF04"} if problem else set())
    assert all(str(problem) in finding.message for finding in found)
