"""Conditions of engines, decided for tables on disk: their logs, and footers of their files."""

from __future__ import annotations

import json
import time
from datetime import datetime, timezone
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pytest
from pyarrow import parquet

from airflow_delta_provider.domain.changes.plan import Plan
from airflow_delta_provider.domain.changes.preflight import with_lockouts
from airflow_delta_provider.domain.changes.step import ColumnName
from airflow_delta_provider.domain.changes.steps import AddColumns, NewColumn, RenameColumns, SetProperties
from airflow_delta_provider.domain.engine.fleet import Fleet
from airflow_delta_provider.domain.engine.profile import FleetError
from airflow_delta_provider.domain.report.report import Severity, Verdict
from airflow_delta_provider.domain.request.check_options import CheckCompatibilityOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.delta.table_log import TableLog
from airflow_delta_provider.jobs.migrations.planning import preflight_of
from airflow_delta_provider.jobs.run.runner import run

FAR, NEAR = datetime(9999, 12, 31, tzinfo=timezone.utc), datetime(2026, 1, 1, tzinfo=timezone.utc)


def field(name, data_type, physical=None, changes=()):
    metadata = {} if physical is None else {"delta.columnMapping.physicalName": physical, "delta.columnMapping.id": 1}
    if changes:
        metadata["delta.typeChanges"] = [{"fromType": old, "toType": new} for old, new in changes]
    return {"name": name, "type": data_type, "nullable": True, "metadata": metadata}


class Table:
    """A table whose log has one commit.

    :param features: reader features
    """

    def __init__(self, path: Path, *fields, partitions=(), configuration=None, features=()):
        self.path, self.version = path, 0
        schema = json.dumps({"type": "struct", "fields": list(fields)})
        protocol = {"minReaderVersion": 1, "minWriterVersion": 2}
        if features:
            protocol = {"minReaderVersion": 3, "minWriterVersion": 7}
            protocol |= {"readerFeatures": list(features), "writerFeatures": list(features)}
        metadata = {
            "id": "11111111-1111-4111-8111-111111111111",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": schema,
            "partitionColumns": list(partitions),
            "configuration": configuration or {},
            "createdTime": 1,
        }
        self.actions = [{"commitInfo": {"timestamp": 1}}, {"protocol": protocol}, {"metaData": metadata}]

    def add(self, stats=None, partition=None, vector=None, table=None, **options):
        name = f"part-{len(self.actions) + 9 * self.version}.parquet"
        self.path.mkdir(exist_ok=True)
        parquet.write_table(table if table is not None else pa.table({"id": [1]}), self.path / name, **options)
        size = (self.path / name).stat().st_size
        add = {
            "path": name,
            "size": size,
            "partitionValues": partition or {},
            "modificationTime": 1,
            "dataChange": True,
        }
        if stats is not None:
            add["stats"] = stats if isinstance(stats, str) else json.dumps(stats)
        if vector is not None:
            add["deletionVector"] = vector
        self.actions.append({"add": add})
        return self

    def write(self, name, *actions):
        log = self.path / "_delta_log"
        log.mkdir(parents=True, exist_ok=True)
        log.joinpath(name).write_text("".join(json.dumps(action) + "\n" for action in actions))

    def checkpoint(self):
        """Write a commit and a checkpoint of what it has now; further files are in a later commit."""
        self.write(f"{0:020d}.json", *self.actions)
        name = f"{0:020d}.checkpoint.22222222-2222-4222-8222-222222222222.json"
        self.write(name, {"checkpointMetadata": {"version": 0}}, *self.actions[1:])
        self.version, self.actions = 1, [{"commitInfo": {"timestamp": 2}}]
        return self

    def check(self, *engines, with_features=(), **fleet):
        self.write(f"{self.version:020d}.json", *self.actions)
        known = {"must_stay_readable_by": list(engines), **fleet}
        request = JobRequest((str(self.path),), CheckCompatibilityOptions(features=tuple(with_features), fleet=known))
        (report,) = run(request, python_session()).tables
        return report


def times(*values, column="t"):
    return pa.table({column: pa.array(values, pa.timestamp("us", "UTC"))})


def bounds(low, high, column="t", **more):
    both = {"minValues": {column: low}, "maxValues": {column: high}, "nullCount": {column: 0}}
    return {"numRecords": 1, **both, **more}


FAR_BOUNDS = bounds("2026-01-01T00:00:00.000Z", "9999-12-31T00:00:00.000Z")
NEAR_BOUNDS = bounds("2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z")
INT96 = {"use_deprecated_int96_timestamps": True}
VECTOR = {"storageType": "u", "pathOrInlineDv": "x" * 20, "offset": 1, "sizeInBytes": 36, "cardinality": 1}


def timestamps(path):
    return Table(path / "t", field("id", "integer"), field("t", "timestamp"))


def test_a_far_timestamp_in_int96_is_misread_and_the_finding_says_which_column_and_what_helps(tmp_path):
    table = timestamps(tmp_path).add(NEAR_BOUNDS, table=times(NEAR), **INT96).add(FAR_BOUNDS, table=times(FAR), **INT96)
    report = table.check("Polars 2.1.0")
    (finding,) = report.findings
    assert (finding.code, report.verdict) == ("CP03", Verdict.VIOLATED)
    assert "column t reaches 9999-12-31 in files that store it as INT96" in str(finding.evidence)
    assert "spark.sql.parquet.outputTimestampType=TIMESTAMP_MICROS" in finding.remedy


@pytest.mark.parametrize(
    ("stats", "value", "options"),
    [
        (FAR_BOUNDS, FAR, {}),
        (NEAR_BOUNDS, NEAR, INT96),
        (None, NEAR, {}),
        ({"numRecords": 1, "nullCount": {"t": 1}}, None, INT96),
        ({"numRecords": 0}, NEAR, INT96),
    ],
    ids=["far in INT64", "near in INT96", "no statistics in INT64", "only nulls", "no rows"],
)
def test_a_timestamp_that_readers_of_int96_get_right_is_no_finding(tmp_path, stats, value, options):
    table = timestamps(tmp_path).add(stats, table=times(value), **options)
    assert table.check("Polars 2.1.0", "delta-rs 1.6.6").verdict is Verdict.PASS


@pytest.mark.parametrize(
    "stats",
    [None, {"numRecords": 1}, bounds("2026-01-01T00:00:00.000Z", "yesterday")],
    ids=["none", "no bounds", "not a time"],
)
def test_without_bounds_of_a_column_in_int96_the_check_is_undetermined(tmp_path, stats):
    report = timestamps(tmp_path).add(stats, table=times(NEAR), **INT96).check("Polars 2.1.0")
    (finding,) = report.findings
    assert (finding.code, report.verdict) == ("CP04", Verdict.UNDETERMINED)
    assert "the values of column t are not known from statistics, and files store it as INT96" in str(finding.evidence)


def test_a_far_bound_that_deleted_rows_may_have_left_is_undetermined(tmp_path):
    loose = {**FAR_BOUNDS, "tightBounds": False}
    table = Table(tmp_path / "t", field("t", "timestamp"), features=["deletionVectors"])
    assert (
        table.add(loose, vector=VECTOR, table=times(FAR), **INT96).check("Polars 2.1.0").verdict is Verdict.UNDETERMINED
    )


def test_a_missing_file_leaves_a_far_timestamp_undetermined(tmp_path):
    table = timestamps(tmp_path).add(FAR_BOUNDS, table=times(FAR), **INT96)
    next(table.path.glob("*.parquet")).unlink()
    (finding,) = table.check("Polars 2.1.0").findings
    assert finding.code == "CP04"
    assert "reaches 9999-12-31, and the file part-3.parquet is missing" in str(finding.evidence)


def test_nested_timestamps_are_found_in_structs_and_undetermined_in_arrays(tmp_path):
    struct = {"type": "struct", "fields": [field("t", "timestamp")]}
    array = {"type": "array", "elementType": "timestamp", "containsNull": True}
    far = pa.table({"s": pa.array([{"t": FAR}], pa.struct([("t", pa.timestamp("us", "UTC"))]))})
    stats = {"numRecords": 1, "minValues": {"s": {"t": "9999-12-31T00:00:00Z"}}, "nullCount": {"s": {"t": 0}}}
    stats["maxValues"] = stats["minValues"]
    table = Table(tmp_path / "s", field("s", struct)).add(stats, table=far, **INT96)
    (finding,) = table.check("delta-rs 1.6.6").findings
    assert "column s.t reaches 9999-12-31" in str(finding.evidence)
    near = pa.table({"l": pa.array([[NEAR]], pa.list_(pa.timestamp("us", "UTC")))})
    table = Table(tmp_path / "l", field("l", array)).add({"numRecords": 1}, table=near, **INT96)
    assert table.check("delta-rs 1.6.6").verdict is Verdict.UNDETERMINED


MAPPED = {"delta.columnMapping.mode": "name"}


@pytest.mark.parametrize(
    ("fields", "misread"),
    [
        ([field("key", "integer", "id"), field("p", "string", "p")], True),
        ([field("id", "integer", "id"), field("part", "string", "p")], False),
        ([field("p", "string", "p"), field("key", "integer", "id")], False),
        ([field("key", "integer", "k"), field("id", "integer", "id"), field("p", "string", "p")], False),
    ],
    ids=["data column before it", "partition column itself", "data column after it", "not directly before it"],
)
def test_duckdb_misplaces_partition_columns_behind_a_renamed_data_column(tmp_path, fields, misread):
    partition = next(each["name"] for each in fields if each["type"] == "string")
    table = Table(tmp_path / "t", *fields, partitions=[partition], configuration=MAPPED, features=["columnMapping"])
    codes = [finding.code for finding in table.check("DuckDB 1.5.5").findings]
    assert codes == (["CP03"] if misread else [])
    assert table.check("DuckDB 1.3.2").verdict is not Verdict.VIOLATED


STORED = {
    "float": pa.float32(),
    "double": pa.float64(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "date": pa.date32(),
    "timestamp_ntz": pa.timestamp("us"),
    "decimal(5,2)": pa.decimal128(5, 2),
    "decimal(12,1)": pa.decimal128(12, 1),
    "decimal(12,2)": pa.decimal128(12, 2),
    "decimal(12,4)": pa.decimal128(12, 4),
}


@pytest.mark.parametrize(
    ("old", "new", "misread"),
    [
        ("float", "double", True),
        ("integer", "double", True),
        ("integer", "decimal(12,1)", True),
        ("decimal(5,2)", "decimal(12,4)", True),
        ("decimal(5,2)", "decimal(12,2)", False),
        ("date", "timestamp_ntz", True),
        ("integer", "long", False),
    ],
)
def test_duckdb_loses_rows_by_filters_on_widened_columns(tmp_path, old, new, misread):
    table = Table(tmp_path / "t", field("c", new, changes=[(old, new)]), features=["typeWidening"])
    assert table.add(table=pa.table({"c": pa.array([None], STORED[new])})).check("DuckDB 1.5.5").findings == ()
    report = table.add(table=pa.table({"c": pa.array([None], STORED[old])})).check("DuckDB 1.5.5")
    assert [finding.code for finding in report.findings] == (["CP03"] if misread else [])
    if misread:
        assert f"column c was widened from {old.partition('(')[0]} to" in str(report.findings[0].evidence)


@pytest.mark.parametrize(("bound", "misread"), [("NaN", True), (2.5, False)])
def test_bounds_of_nan_are_found_in_the_log(tmp_path, bound, misread):
    table = Table(tmp_path / "t", field("x", "double"), field("s", "string"))
    stats = {"numRecords": 1, "minValues": {"x": 1.5, "s": "NaN?"}, "maxValues": {"x": bound, "s": "NaN?"}}
    report = table.add(stats).check("deltalake to_pyarrow_table 1.6.6")
    assert [finding.code for finding in report.findings] == (["CP03"] if misread else [])


@pytest.mark.parametrize(
    ("stats", "misread"),
    [
        ({"numRecords": 1, "nullCount": {"id": 0}}, True),
        ({"numRecords": 1, "nullCount": {"id": 0, "a": 1}}, False),
        ({"numRecords": 1}, False),
        (None, False),
    ],
)
def test_to_pyarrow_dataset_loses_nulls_that_are_not_counted(tmp_path, stats, misread):
    counted = {"numRecords": 1, "nullCount": {"id": 0, "a": 0}}
    table = Table(tmp_path / "t", field("id", "integer"), field("a", "string")).add(stats)
    if stats:
        assert table.check("deltalake to_pyarrow_table 1.6.6").findings == ()
    table.add(counted)
    report = table.check("deltalake to_pyarrow_table 1.6.6")
    assert [finding.code for finding in report.findings] == (["CP03"] if misread else [])


@pytest.mark.parametrize(
    ("value", "vectors", "expected"),
    [
        ("true", True, "CP01"),
        ("true", False, "CP01"),
        ("false", True, "CP03"),
        (None, True, "CP03"),
        (None, False, None),
    ],
)
def test_daft_refuses_by_the_property_and_returns_deleted_rows_without_it(tmp_path, value, vectors, expected):
    configuration = {} if value is None else {"delta.enableDeletionVectors": value}
    table = Table(tmp_path / "t", field("id", "integer"), configuration=configuration, features=["deletionVectors"])
    report = table.add(vector=VECTOR if vectors else None).check("Daft 0.7.26")
    assert [finding.code for finding in report.findings] == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("engine", "vectors", "expected"),
    [
        ("Presto 0.298", True, ["CP03"]),
        ("Presto 0.292", True, ["CP03"]),
        ("Presto 0.298", False, []),
        ("Presto 0.287", False, ["CP01"]),
        ("StarRocks 3.3.2", True, ["CP01"]),
        ("StarRocks 3.3.2", False, []),
        ("StarRocks 3.5.0", True, []),
    ],
)
def test_engines_without_vectors_of_their_own_count_only_if_a_file_has_one(tmp_path, engine, vectors, expected):
    table = Table(tmp_path / "t", field("id", "integer"), features=["deletionVectors"])
    found = table.add(vector=VECTOR if vectors else None).check(engine).findings
    assert [finding.code for finding in found] == expected


@pytest.mark.parametrize(
    ("engine", "physical", "expected"),
    [
        ("Presto 0.297", "c", ["CP03"]),
        ("Presto 0.292", "c", ["CP03"]),
        ("Presto 0.297", "id", []),
        ("Presto 0.298", "c", []),
    ],
)
def test_presto_returned_null_for_renamed_columns(tmp_path, engine, physical, expected):
    mapped = {"delta.columnMapping.mode": "name"}
    table = Table(
        tmp_path / "t", field("id", "integer", physical), configuration=mapped, features=["columnMapping"]
    ).add()
    assert [finding.code for finding in table.check(engine).findings] == expected


@pytest.mark.parametrize("engine", ["Polars 0.20.0", "Polars 99.0", "DuckDB 0.9", "Trino 9999"])
def test_a_release_of_which_nothing_is_known_is_undetermined_even_for_a_plain_table(tmp_path, engine):
    report = Table(tmp_path / "t", field("id", "integer")).add().check(engine)
    assert ([finding.code for finding in report.findings], report.verdict) == (["CP04"], Verdict.UNDETERMINED)


def test_a_partition_column_with_another_name_in_files_is_no_other_place(tmp_path):
    fields = [field("id", "integer", "id"), field("p", "string", "col-2")]
    table = Table(tmp_path / "t", *fields, partitions=["p"], configuration=MAPPED, features=["columnMapping"]).add()
    assert [f.code for f in table.check("Acme 1", **acme({"renamed": "partition column"})).findings] == ["CP03"]
    assert table.check("Acme 1", **acme({"renamed": "any"})).findings == ()


@pytest.mark.parametrize(("highest", "expected"), [("3", ["CP04"]), ("2", []), (None, [])])
def test_dropped_columns_leave_ids_that_no_column_has(tmp_path, highest, expected):
    configuration = MAPPED if highest is None else {**MAPPED, "delta.columnMapping.maxColumnId": highest}
    fields = [field("id", "integer", "col-1"), field("v", "integer", "col-2")]
    table = Table(tmp_path / "t", *fields, configuration=configuration, features=["columnMapping"]).add()
    assert [finding.code for finding in table.check("Daft 0.7.26").findings] == expected


def test_presto_has_no_type_for_timestamps_without_zone(tmp_path):
    fields = [field("id", "integer"), field("t", "timestamp_ntz")]
    table = Table(tmp_path / "t", *fields, features=["timestampNtz"]).add()
    (finding,) = table.check("Presto 0.292").findings
    assert "refuses tables with a column of type timestamp_ntz" in str(finding.evidence)


def test_fields_of_structs_are_renamed_apart_from_columns(tmp_path):
    struct = {"type": "struct", "fields": [field("x", "integer", "col-2")]}
    table = Table(tmp_path / "t", field("s", struct, "s"), configuration=MAPPED, features=["columnMapping"]).add()
    assert [finding.code for finding in table.check("Acme 1", **acme({"renamed": "field"})).findings] == ["CP03"]
    assert table.check("Acme 1", **acme({"renamed": "field in an array or map"})).findings == ()
    array = {"type": "array", "elementType": struct, "containsNull": True}
    table = Table(tmp_path / "l", field("l", array, "l"), configuration=MAPPED, features=["columnMapping"]).add()
    assert [f.code for f in table.check("Acme 1", **acme({"renamed": "field in an array or map"})).findings] == ["CP03"]


def test_doris_loses_rows_of_partitioned_tables_with_vectors_as_its_plugin_of_trino_does(tmp_path):
    fields = [field("id", "integer"), field("p", "string")]
    table = Table(tmp_path / "t", *fields, partitions=["p"], features=["deletionVectors"])
    table.add(vector=VECTOR, partition={"p": "a"})
    assert [finding.code for finding in table.check("Apache Doris 3.0.1").findings] == ["CP03"]


def test_daft_returns_null_for_arrays_with_column_mapping(tmp_path):
    array = {"type": "array", "elementType": "integer", "containsNull": True}
    mapped = Table(tmp_path / "t", field("l", array, "col-1"), configuration=MAPPED, features=["columnMapping"])
    assert [finding.code for finding in mapped.add().check("Daft 0.7.26").findings] == ["CP03"]
    assert Table(tmp_path / "u", field("l", array)).add().check("Daft 0.7.26").findings == ()
    for name in ("id", "key"):  # also if it was renamed since
        upgraded = Table(
            tmp_path / name, field(name, "integer", "id"), configuration=MAPPED, features=["columnMapping"]
        )
        assert [finding.code for finding in upgraded.add().check("Daft 0.7.26").findings] == ["CP04"]


OWN = {
    "engine": "Acme",
    "releases": [{"version": "1", "reads": ["deletionVectors", "columnMapping", "timestampNtz"], "lists_all": True}],
}


def acme(condition, **more):
    stated = {"outcome": "misreads", "if": condition, "effect": "returns wrong rows", **more}
    return {"profiles": [{**OWN, "conditions": [stated]}]}


def test_a_fleet_file_states_conditions_and_a_met_one_is_a_misread(tmp_path):
    off = {"delta.enableDeletionVectors": "false"}
    stated = acme({"vectors": True, "properties": {"delta.enableDeletionVectors": [False, None]}}, remedy="Use Spark.")
    fields, features = [field("id", "integer")], ["deletionVectors"]
    table = Table(tmp_path / "off", *fields, configuration=off, features=features).add(vector=VECTOR)
    (finding,) = table.check("Acme 1", **stated).findings
    assert (finding.code, finding.remedy) == ("CP03", "Use Spark.")
    assert "1 live file has a deletion vector and delta.enableDeletionVectors is false" in str(finding.evidence)
    assert (
        Table(tmp_path / "none", *fields, configuration=off, features=features).add().check("Acme 1", **stated).findings
        == ()
    )
    on = {"delta.enableDeletionVectors": "true"}
    table = Table(tmp_path / "on", *fields, configuration=on, features=features).add(vector=VECTOR)
    assert table.check("Acme 1", **stated).findings == ()


@pytest.mark.parametrize(
    ("condition", "value", "expected"),
    [
        (
            {"partition_values": {"types": "timestamp", "least": "1677-09-22", "greatest": "2262-04-11"}},
            "9999-12-31 00:00:00",
            "CP03",
        ),
        (
            {"partition_values": {"types": "timestamp", "least": "1677-09-22", "greatest": "2262-04-11"}},
            "2026-01-01 00:00:00",
            None,
        ),
        ({"partition_values": {"types": "timestamp", "least": "1677-09-22", "greatest": "2262-04-11"}}, "soon", "CP04"),
        ({"short_decimals": True}, "2.5", None),
    ],
)
def test_conditions_on_partition_values_read_the_log(tmp_path, condition, value, expected):
    table = Table(tmp_path / "t", field("id", "integer"), field("p", "timestamp"), partitions=["p"])
    codes = [finding.code for finding in table.add(partition={"p": value}).check("Acme 1", **acme(condition)).findings]
    assert codes == ([] if expected is None else [expected])


@pytest.mark.parametrize(("value", "short"), [("2.5", True), ("2.500", False), ("", False)])
def test_short_decimals_are_partition_values_with_fewer_digits_than_the_scale(tmp_path, value, short):
    table = Table(tmp_path / "t", field("id", "integer"), field("p", "decimal(9,3)"), partitions=["p"])
    found = table.add(partition={"p": value}).check("Acme 1", **acme({"short_decimals": True})).findings
    assert [finding.code for finding in found] == (["CP03"] if short else [])


def flags(path, bounds, counts):
    stats = {"numRecords": 2, **{key: {"id": 1, **bounds} for key in ("minValues", "maxValues")}, "nullCount": counts}
    return Table(path, field("id", "integer"), field("b", "boolean")).add(stats)


@pytest.mark.parametrize(
    ("bounds", "counts", "met"),
    [
        ({}, {"id": 0, "b": 0}, True),
        ({"b": None}, {"id": 0, "b": 1}, True),
        ({"b": True}, {"id": 0, "b": 0}, False),
        ({}, {"id": 0, "b": 2}, False),  # NULL only
        ({}, {"id": 0}, False),  # not counted: added later, or not indexed
    ],
)
def test_bounds_are_missing_if_a_counted_column_with_values_has_none(tmp_path, bounds, counts, met):
    found = flags(tmp_path / "t", bounds, counts).check("Acme 1", **acme({"missing_bounds": True})).findings
    assert [finding.code for finding in found] == (["CP03"] if met else [])


def test_filters_of_deltalake_lose_rows_by_booleans_of_delta_spark(tmp_path):
    table = flags(tmp_path / "t", {}, {"id": 0, "b": 0})
    (finding,) = table.check("deltalake to_pyarrow_table 1.6.6").findings
    assert finding.code == "CP03"
    assert "no bounds of column b" in str(finding.evidence)


@pytest.mark.parametrize(
    ("path", "met"),
    [("part-13.parquet", False), ("s3://b/t/part-13.parquet", True), ("file:/t/part-13.parquet", True), ("/t/p", True)],
)
def test_paths_are_absolute_by_a_scheme_or_a_slash(tmp_path, path, met):
    table = Table(tmp_path / "t", field("id", "integer")).add()
    table.actions[-1]["add"]["path"] = path
    found = table.check("Acme 1", **acme({"absolute_paths": True})).findings
    assert [finding.code for finding in found] == (["CP03"] if met else [])


@pytest.mark.parametrize(
    ("folder", "value", "by_path", "by_file"),
    [
        ("p=a", "a", False, False),
        ("p=a%252Fb", "a/b", False, False),
        ("p=__HIVE_DEFAULT_PARTITION__", None, False, False),
        ("p=__HIVE_DEFAULT_PARTITION__", "__HIVE_DEFAULT_PARTITION__", True, True),
        ("p=b", "a", True, True),
        ("Ab", "a", True, True),
        ("Ab", None, True, True),
    ],
)
@pytest.mark.parametrize("stored", [True, False])
def test_paths_of_files_have_partition_values(tmp_path, folder, value, by_path, by_file, stored):
    data = pa.table({"id": [1], "p": ["a"]} if stored else {"id": [1]})
    table = Table(tmp_path / "t", field("id", "integer"), field("p", "string"), partitions=["p"])
    add = table.add(partition={"p": value}, table=data).actions[-1]["add"]
    place = table.path / unquote(folder) / add["path"]
    place.parent.mkdir()
    table.path.joinpath(add["path"]).rename(place)
    add["path"] = f"{folder}/{add['path']}"
    decided_by_file = by_file and not (stored and folder == "Ab")
    for key, met in (("paths_without_partitions", by_path), ("files_without_partitions", decided_by_file)):
        found = table.check("Acme 1", **acme({key: True})).findings
        assert [finding.code for finding in found] == (["CP03"] if met else []), key


@pytest.mark.parametrize(
    ("condition", "met"),
    [
        ({"features": ["columnMapping"]}, True),
        ({"features": ["columnMapping", "deletionVectors"]}, False),
        ({"mapping": ["id", "name"]}, True),
        ({"mapping": "id"}, False),
        ({"partitions": True}, True),
        ({"partitions": ["binary"]}, False),
        ({"types": ["array"]}, True),
        ({"types": ["string"]}, False),
        ({"renamed": "any"}, True),
        ({"renamed": "field"}, False),
        ({"renamed": "partition column"}, False),
        ({"protocol": {"reader": 3, "writer": 7}}, True),
        ({"protocol": {"reader": 2, "writer": 7}}, False),
        ({"checkpoints": True}, False),
        ({"null_partition_values": True}, True),
    ],
)
def test_clauses_about_metadata(tmp_path, condition, met):
    array = {"type": "array", "elementType": "integer", "containsNull": True}
    fields = [field("l", array, "col-1"), field("p", "string", "p")]
    table = Table(tmp_path / "t", *fields, partitions=["p"], configuration=MAPPED, features=["columnMapping"]).add()
    assert [f.code for f in table.check("Acme 1", **acme(condition)).findings] == (["CP03"] if met else [])


def test_an_engine_that_only_reads_and_need_not_keep_its_access_is_an_error_if_it_misreads(tmp_path):
    table = timestamps(tmp_path).add(FAR_BOUNDS, table=times(FAR), **INT96)
    fleet = {
        "engines": [{"engine": "Polars", "version": "2.1.0", "reads": True}, {"engine": "Trino", "reads": True}],
        "must_stay_readable_by": ["Delta Spark 4.4.0"],
    }
    findings = table.check(**fleet).findings
    assert next((finding.code, finding.severity.value) for finding in findings) == ("CP03", "ERROR")
    evidence = table.check(**fleet).evidence
    assert "Polars 1.40 to 2.1.0" in evidence["known_lockouts"]["misread"]


def test_entries_in_a_checkpoint_count(tmp_path):
    table = timestamps(tmp_path).add(FAR_BOUNDS, table=times(FAR), **INT96)
    table.check("Polars 2.1.0")
    kinds = {"protocol", "metaData", "add"}
    rows = [{kind: action.get(kind) for kind in kinds} for action in table.actions if kinds & action.keys()]
    strings = pa.map_(pa.string(), pa.string())
    add = pa.struct(
        [
            ("path", pa.string()),
            ("size", pa.int64()),
            ("partitionValues", strings),
            ("modificationTime", pa.int64()),
            ("dataChange", pa.bool_()),
            ("stats", pa.string()),
        ]
    )
    metadata = pa.struct(
        [
            ("id", pa.string()),
            ("format", pa.struct([("provider", pa.string()), ("options", strings)])),
            ("schemaString", pa.string()),
            ("partitionColumns", pa.list_(pa.string())),
            ("configuration", strings),
            ("createdTime", pa.int64()),
        ]
    )
    protocol = pa.struct([("minReaderVersion", pa.int32()), ("minWriterVersion", pa.int32())])
    for row in rows:
        for kind, maps in (("add", ["partitionValues"]), ("metaData", ["configuration"])):
            row[kind] = row[kind] and {key: list(v.items()) if key in maps else v for key, v in row[kind].items()}
        if row["metaData"]:
            row["metaData"]["format"] = {"provider": "parquet", "options": []}
    schema = pa.schema([("protocol", protocol), ("metaData", metadata), ("add", add)])
    log = table.path / "_delta_log"
    parquet.write_table(pa.Table.from_pylist(rows, schema), log / f"{0:020d}.checkpoint.parquet")
    log.joinpath("_last_checkpoint").write_text(json.dumps({"version": 0, "size": len(rows)}))
    log.joinpath(f"{0:020d}.json").unlink()
    log.joinpath(f"{1:020d}.json").write_text(json.dumps({"commitInfo": {"timestamp": 2}}))
    request = JobRequest(
        (str(table.path),), CheckCompatibilityOptions(fleet={"must_stay_readable_by": ["Polars 2.1.0"]})
    )
    (report,) = run(request, python_session()).tables
    assert [finding.code for finding in report.findings if finding.code in ("CP03", "CP04")] == ["CP03"]


def refusals_of(table, fleet, *steps):
    table.check()
    opened = python_session().open_table(str(table.path))
    state = opened.log.read_state()
    plan = Plan(opened.name, steps, state.protocol, state.protocol)
    return with_lockouts(plan, (), preflight_of(opened, plan, state, fleet)).refusals


def test_a_plan_is_refused_if_a_rename_makes_a_kept_engine_misplace_partition_columns(tmp_path):
    fields = field("v", "integer", "v"), field("id", "integer", "id"), field("p", "string", "p")
    table = Table(tmp_path / "t", *fields, partitions=["p"], configuration=MAPPED, features=["columnMapping"])
    kept = {"must_stay_readable_by": ["DuckDB 1.5.5"]}
    (refusal,) = refusals_of(table, kept, RenameColumns((ColumnName(("id",), "key"),)))
    assert refusal.code == "CP03"
    assert "After the change, it returns the values of partition columns in the wrong columns" in str(refusal.evidence)
    assert refusals_of(table, kept, RenameColumns((ColumnName(("v",), "w"),))) == ()
    assert refusals_of(table, kept, RenameColumns((ColumnName(("p",), "part"),))) == ()
    assert refusals_of(table, kept, AddColumns((NewColumn(("new",), "int"),))) == ()


def test_a_plan_is_refused_if_it_turns_off_the_property_that_keeps_deleted_rows_away(tmp_path):
    on, features = {"delta.enableDeletionVectors": "true"}, ["deletionVectors"]
    stated = acme({"vectors": True, "properties": {"delta.enableDeletionVectors": [False, None]}})
    kept = {**stated, "must_stay_readable_by": ["Acme 1"]}
    off = SetProperties((("delta.enableDeletionVectors", "false"),))
    with_vectors = Table(tmp_path / "t", field("id", "integer"), configuration=on, features=features).add(vector=VECTOR)
    (refusal,) = refusals_of(with_vectors, kept, off)
    assert (refusal.code, refusal.facts["engine"]) == ("CP03", "Acme 1")
    without = Table(tmp_path / "u", field("id", "integer"), configuration=on, features=features).add()
    assert refusals_of(without, kept, off) == ()


@pytest.mark.parametrize(
    ("engine", "expected"),
    [
        ("Presto 0.298", ["CP03"]),
        ("Daft 0.7.26", ["CP01"]),
        ("StarRocks 3.3.2", ["CP01"]),
        ("StarRocks 4.0.1", []),
        ("Trino 470", []),
    ],
)
def test_vectors_that_a_change_lets_writers_add_count_before_any_file_has_one(tmp_path, engine, expected):
    plain = Table(tmp_path / "t", field("id", "integer"), features=["timestampNtz"]).add()
    found = plain.check(engine, with_features=["deletionVectors"]).findings
    assert [finding.code for finding in found if finding.severity is Severity.ERROR] == expected


def test_a_plan_is_refused_if_it_lets_writers_add_vectors_that_a_kept_engine_ignores(tmp_path):
    table = Table(tmp_path / "t", field("id", "integer"), features=["deletionVectors"]).add()
    on = SetProperties((("delta.enableDeletionVectors", "true"),))
    kept = {**acme({"vectors": True}), "must_stay_readable_by": ["Acme 1"]}
    (refusal,) = refusals_of(table, kept, on)
    assert "the change lets writers add deletion vectors" in str(refusal.evidence)
    assert refusals_of(table, kept, SetProperties((("delta.appendOnly", "true"),))) == ()


def test_a_plan_that_adds_nothing_to_a_misread_is_not_refused(tmp_path):
    table = timestamps(tmp_path).add(FAR_BOUNDS, table=times(FAR), **INT96)
    kept = {"must_stay_readable_by": ["Polars 2.1.0"]}
    assert refusals_of(table, kept, SetProperties((("delta.appendOnly", "true"),))) == ()
    assert refusals_of(table, kept, AddColumns((NewColumn(("u",), "timestamp"),))) == ()


@pytest.mark.parametrize(
    ("condition", "place"),
    [
        ({"outcome": "fails", "if": {"vectors": True}, "effect": "fails"}, "outcome"),
        ({"outcome": "misreads", "if": {"vectors": True}}, "effect"),
        ({"outcome": "misreads", "if": {}, "effect": "fails"}, "if"),
        ({"outcome": "misreads", "if": {"vector": True}, "effect": "fails"}, "if"),
        ({"outcome": "misreads", "if": {"vectors": False}, "effect": "fails"}, "if.vectors"),
        (
            {"outcome": "misreads", "if": {"values": {"types": "date"}}, "effect": "x"},
            "if.values",
        ),
        ({"outcome": "misreads", "if": {"renamed": True}, "effect": "x"}, "if.renamed"),
        ({"outcome": "misreads", "if": {"protocol": {"reader": 2}}, "effect": "x"}, "if.protocol"),
        (
            {"outcome": "misreads", "if": {"type_changes": ["a"]}, "effect": "x"},
            "if.type_changes",
        ),
        (
            {"since": "2", "outcome": "misreads", "if": {"vectors": True}, "effect": "x"},
            "since",
        ),
        ({"when": 1}, ""),
    ],
)
def test_a_condition_that_cannot_be_read_is_an_error_that_names_its_place(condition, place):
    with pytest.raises(FleetError) as error:
        Fleet.parse({"profiles": [{**OWN, "conditions": [condition]}]})
    path = "profiles[0].conditions[0]" + (f".{place}" if place else "")
    assert str(error.value).startswith(f"{path}: ")
    with pytest.raises(FleetError):
        Fleet.parse({"profiles": [{**OWN, "conditions": "vectors"}]})


def codes_of(table, engine):
    return [finding.code for finding in table.check(engine).findings]


OFF = {"delta.enableDeletionVectors": "false"}


def vectors(path, configuration=None):
    features = ["deletionVectors", "v2Checkpoint"]
    return Table(path / "t", field("id", "integer"), configuration=configuration or {}, features=features)


@pytest.mark.parametrize("engine", ["Trino 470", "Trino 476", "Trino 479"])
@pytest.mark.parametrize(
    ("configuration", "expected"),
    [(OFF, ["CP03"]), ({}, ["CP03"]), ({"delta.enableDeletionVectors": "true"}, [])],
)
def test_trino_ignores_vectors_that_a_checkpoint_lists_unless_the_property_is_on(
    tmp_path, configuration, expected, engine
):
    table = vectors(tmp_path, configuration).add(vector=VECTOR).checkpoint()
    assert codes_of(table, engine) == expected


def test_trino_reads_vectors_of_commits_after_the_checkpoint(tmp_path):
    table = vectors(tmp_path, OFF).add().checkpoint().add(vector=VECTOR)
    assert codes_of(table, "Trino 476") == []


def test_trino_does_not_see_that_a_file_of_the_checkpoint_was_purged(tmp_path):
    table = vectors(tmp_path, OFF).add(vector=VECTOR).checkpoint()
    remove = {"path": "part-3.parquet", "deletionTimestamp": 2, "dataChange": False, "deletionVector": VECTOR}
    table.actions.append({"remove": remove})
    (finding,) = table.add().check("Trino 476").findings
    assert finding.code == "CP03"
    assert "the newest checkpoint lists files with deletion vectors" in str(finding.evidence)


def test_a_checkpoint_is_read_once_for_live_files_and_once_for_all_conditions(tmp_path, monkeypatch):
    table, read, reads = vectors(tmp_path, OFF).add(vector=VECTOR).checkpoint().add(), TableLog._checkpoint_batches, []

    def counted(self, segment, with_files, **more):
        reads.append(with_files)
        return read(self, segment, with_files, **more)

    monkeypatch.setattr(TableLog, "_checkpoint_batches", counted)
    assert codes_of(table, "Trino 476") == ["CP03"]
    assert reads.count(True) == 2


@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        ("12345678901234567890.123456789012345678", ["CP03"]),
        ("99999999999999999999999999.9999", ["CP03"]),
        ("1234567.891", []),
        ("-1E-18", []),
        ("12345678901234567890123", []),
        ('"12345678901234567890.123456789012345678"', []),
    ],
)
def test_trino_loses_rows_whose_decimal_bounds_a_double_rounds_inwards(tmp_path, bound, expected):
    stats = (
        f'{{"numRecords": 1, "minValues": {{"d": {bound}}}, "maxValues": {{"d": {bound}}}, "nullCount": {{"d": 0}}}}'
    )
    table = Table(tmp_path / "t", field("d", "decimal(38,18)")).add(stats)
    assert codes_of(table, "Trino 476") == expected


def test_bounds_that_a_double_rounds_outwards_lose_nothing(tmp_path):
    low, high = "9007199254740992.3", "1234567890123456781.9"  # read as 9007199254740992 and 1234567890123456800
    stats = f'{{"numRecords": 2, "minValues": {{"d": {low}}}, "maxValues": {{"d": {high}}}, "nullCount": {{"d": 0}}}}'
    assert codes_of(Table(tmp_path / "t", field("d", "decimal(20,1)")).add(stats), "Trino 476") == []


MILLIS = {"coerce_timestamps": "ms"}


@pytest.mark.parametrize(
    ("bound", "options", "expected", "year_10000"),
    [
        ("9999-12-31T23:59:59.999999Z", {}, {"CP03"}, True),
        ("9999-12-31T23:59:59.999499Z", {}, {"CP04"}, True),
        ("9999-12-31T23:59:59.999Z", {}, {"CP04"}, True),
        ("9999-12-31T23:59:59.998Z", {}, {"CP04"}, False),
        ("9999-12-31T23:59:59.999Z", INT96, {"CP04"}, False),
        ("9999-12-31T23:59:59.999Z", MILLIS, set(), False),
        (None, {}, {"CP04"}, False),
    ],
)
def test_trino_rounds_the_end_of_9999_to_the_next_year_in_int64(tmp_path, bound, options, expected, year_10000):
    stats = None if bound is None else bounds("2026-01-01T00:00:00.000Z", bound)
    findings = timestamps(tmp_path).add(stats, table=times(FAR), **options).check("Trino 476").findings
    assert {finding.code for finding in findings} == expected
    assert any("year 10000" in str(finding.evidence) for finding in findings) is year_10000


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("timestamp", "2026-01-01 00:00:00", []),
        ("timestamp", "2026-01-01 00:00:00.123", []),
        ("timestamp", "2026-01-01 00:00:00.123456", ["CP04"]),
        ("timestamp", "2026-01-01T00:00:00.123456Z", ["CP04"]),
        ("timestamp", None, []),
        ("timestamp_ntz", "2026-01-01 00:00:00.123456", []),
    ],
)
def test_trino_cuts_partition_values_to_milliseconds(tmp_path, kind, value, expected):
    fields = [field("id", "integer"), field("p", kind)]
    table = Table(tmp_path / "t", *fields, partitions=["p"], features=["timestampNtz"]).add(partition={"p": value})
    assert codes_of(table, "Trino 470") == expected


@pytest.mark.parametrize(
    "stats", [{"numRecords": 0}, {"numRecords": 1, "nullCount": {"t": 1}}], ids=["no rows", "only nulls"]
)
def test_trino_cuts_no_timestamps_of_files_without_any(tmp_path, stats):
    assert codes_of(timestamps(tmp_path).add(stats, table=times(NEAR)), "Trino 476") == []


@pytest.mark.parametrize(
    ("old", "new", "partitions", "expected"),
    [
        ("integer", "long", (), ["CP03"]),
        ("float", "double", (), ["CP03"]),
        ("byte", "integer", (), []),
        ("integer", "long", ("c",), []),
    ],
)
def test_trino_leaves_out_columns_after_type_changes_that_it_does_not_know(tmp_path, old, new, partitions, expected):
    fields = [field("id", "integer"), field("c", new, changes=[(old, new)])]
    table = Table(tmp_path / "t", *fields, partitions=partitions, features=["typeWidening"])
    assert codes_of(table.add(partition=dict.fromkeys(partitions, "7")), "Trino 476") == expected


@pytest.mark.parametrize(
    ("fields", "partitions", "expected"),
    [
        ([field("id", "integer"), field("v", "void")], [], ["CP01"]),
        ([field("id", "integer"), field("p", "binary")], ["p"], ["CP01"]),
        ([field("id", "integer"), field("b", "binary")], [], []),
    ],
)
def test_trino_refuses_void_columns_and_binary_partitions(tmp_path, fields, partitions, expected):
    table = Table(tmp_path / "t", *fields, partitions=partitions).add(partition=dict.fromkeys(partitions, "a"))
    assert codes_of(table, "Trino 476") == expected


@pytest.mark.parametrize(
    ("in_file", "configuration", "features", "expected"),
    [
        ("INT96", {}, (), ["CP03"]),
        ("INT64", {}, (), []),
        ("", {}, (), []),
        ("INT96", MAPPED, ("columnMapping",), []),
        ("INT96", {"delta.enableDeletionVectors": "true"}, ("deletionVectors",), []),
    ],
)
def test_delta_sharing_misreads_far_partition_values_only_from_int96_in_format_parquet(
    tmp_path, in_file, configuration, features, expected
):
    fields = [field("id", "integer", "id"), field("p", "timestamp", "p")]
    table = Table(tmp_path / "t", *fields, partitions=["p"], configuration=configuration, features=features)
    stored = times(FAR, column="p") if in_file else None
    table.add(partition={"p": "9999-12-31 00:00:00"}, table=stored, **(INT96 if in_file == "INT96" else {}))
    assert codes_of(table, "Delta Sharing 1.4.2") == expected


@pytest.mark.parametrize(
    ("stats", "table", "options", "expected"),
    [
        (FAR_BOUNDS, times(FAR), INT96, ["CP03"]),
        (FAR_BOUNDS, times(FAR), {}, []),
        (NEAR_BOUNDS, times(NEAR), INT96, []),
    ],
)
def test_delta_sharing_misreads_far_timestamps_in_int96(tmp_path, stats, table, options, expected):
    shared = timestamps(tmp_path).add(stats, table=table, **options)
    assert codes_of(shared, "Delta Sharing 1.4.2") == expected


@pytest.mark.parametrize(
    ("greatest", "kind", "expected"),
    [
        (9007199254740993, "long", ["CP04"]),
        (9007199254740992, "long", []),
        (-9007199254740993, "long", ["CP04"]),
        (7, "integer", []),
    ],
)
def test_delta_sharing_may_round_whole_numbers_that_doubles_do_not_hold(tmp_path, greatest, kind, expected):
    stats = bounds(min(greatest, 0), max(greatest, 0), column="n")
    table = Table(tmp_path / "t", field("n", kind)).add(stats, table=pa.table({"n": pa.array([greatest], pa.int64())}))
    assert codes_of(table, "Delta Sharing 1.4.2") == expected


@pytest.mark.parametrize(("kind", "partitions", "expected"), [("void", (), ["CP01"]), ("binary", ("c",), ["CP04"])])
def test_delta_sharing_refuses_void_columns_and_may_refuse_binary_partitions(tmp_path, kind, partitions, expected):
    table = Table(tmp_path / "t", field("id", "integer"), field("c", kind), partitions=partitions)
    assert codes_of(table.add(partition=dict.fromkeys(partitions, "a")), "Delta Sharing 1.4.2") == expected


LOST = "9999999999999998.0"


def prices(path, stats, writer):
    table = Table(path, field("price", "decimal(18,2)")).add(stats)
    table.actions[0]["commitInfo"]["engineInfo"] = writer
    return table


def price_bounds(text):
    return f'{{"numRecords":2,"minValues":{{"price":{text}}},"maxValues":{{"price":{text}}},"nullCount":{{"price":0}}}}'


@pytest.mark.parametrize(
    ("text", "writer", "met"),
    [
        (LOST, "delta-rs:py-1.6.6", True),
        (LOST, "Acme/1", True),  # no decimal of this scale is written so
        ("9999999999999998.00", "Apache-Spark/4.2.0 Delta-Lake/4.4.0", False),
        ("123456789012345.67", "delta-rs:py-1.6.6", True),
        ("123456789012345.67", "Apache-Spark/4.2.0 Delta-Lake/4.4.0", False),
        ("12.34", "delta-rs:py-1.6.6", False),
    ],
)
def test_readers_that_skip_by_rounded_bounds_are_undecided(tmp_path, text, writer, met):
    table = prices(tmp_path / "t", price_bounds(text), writer)
    engines = ["deltalake to_pyarrow_table 1.6.6", "delta-rs 1.6.6", "DuckDB 1.5.5", "Polars 2.1", "Trino 476"]
    report = table.check(*engines, "ClickHouse 26.9", "Polars 1.30")
    found = [finding for finding in report.findings if "lack some of its digits" in str(finding)]
    undecided = "ClickHouse" not in str(found) and "Polars 1.30" not in str(found)
    assert undecided
    assert all(engine.rpartition(" ")[0] in str(found) for engine in engines) is met
    assert (report.verdict is Verdict.UNDETERMINED) is met


def test_engine_that_wrote_a_table_may_misread_it(tmp_path):
    table = prices(tmp_path / "t", price_bounds(LOST), "delta-rs:py-1.6.6")
    table.actions[0]["commitInfo"]["timestamp"] = int(time.time() * 1000)
    report = table.check()
    assert [(finding.code, finding.subject) for finding in report.findings] == [("CP04", "delta-rs 1.6.6")]
    assert report.verdict is Verdict.UNDETERMINED
