"""Rows against CHECK constraints, NOT NULL, generated columns and invariants: at level data."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_delta_provider.domain.report.report import Severity, TableReport, Verdict
from tests.tables import log

pytestmark = pytest.mark.nightly

Audit = Callable[..., TableReport]
Table = Callable[..., Path]
GENERATED = "delta.generationExpression"
INVARIANT = "delta.invariants"
soak = pytest.mark.soak
ROWS = (
    "SELECT 1L AS id, 'a' AS name, 5 AS v, 10 AS twice, named_struct('x', 1) AS s, DATE'2024-01-05' AS day, "
    "TIMESTAMP'2024-01-05 12:00:00' AS at UNION ALL "
    "SELECT 2L, 'b', 7, 14, NULL, DATE'2024-01-05', TIMESTAMP'2024-01-05 12:00:00'"
)


def create(spark: SparkSession, path: Path, *, mode: str, **properties: str) -> None:
    """A table with a condition of each kind, and rows that satisfy them, a third of them deleted."""
    listed = {"delta.columnMapping.mode": mode, "delta.enableDeletionVectors": "true"}
    listed |= {key.replace("__", "."): value for key, value in properties.items()}
    told = ", ".join(f"'{key}' = '{value}'" for key, value in listed.items())
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id BIGINT NOT NULL, name STRING, v INT, "
        "twice INT GENERATED ALWAYS AS (v * 2), s STRUCT<x: INT>, day DATE GENERATED ALWAYS AS (CAST(at AS DATE)), "
        f"at TIMESTAMP) USING delta PARTITIONED BY (day) TBLPROPERTIES ({told})"
    )
    spark.sql(f"ALTER TABLE delta.`{path}` ADD CONSTRAINT positive CHECK (v > 0 AND (s.x IS NULL OR s.x < 100))")
    spark.sql(f"INSERT INTO delta.`{path}` {ROWS}")
    spark.sql(f"INSERT INTO delta.`{path}` {ROWS.replace('1L AS id', '3L AS id')}")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id = 3")


def add_file(spark: SparkSession, path: Path, rows: str, day: str = "2024-01-05") -> tuple[int, str]:
    """Let another writer add rows that nobody checks; return the version and the path of the file."""
    written = path.with_name("written")
    columns = json.loads(log.last(path, "metaData")["schemaString"])["fields"]
    names = {
        field["name"]: field["metadata"].get("delta.columnMapping.physicalName", field["name"]) for field in columns
    }
    data = spark.sql(rows).coalesce(1).drop("day")
    fields = {f["name"]: f for f in columns}
    renamed = data.selectExpr(*(f"`{name}` AS `{names[name]}`" for name in data.columns))
    if names["s"] != "s":
        inner = fields["s"]["type"]["fields"][0]["metadata"]["delta.columnMapping.physicalName"]
        renamed = renamed.withColumn(names["s"], renamed[names["s"]].cast(f"struct<`{inner}`: int>"))
    renamed.write.mode("overwrite").parquet(str(written))
    (file,) = written.glob("*.parquet")
    name = "another file.parquet"
    shutil.copy(file, path / name)
    add = {
        "path": name.replace(" ", "%20"),
        "partitionValues": {names["day"]: day},
        "size": file.stat().st_size,
        "modificationTime": 1,
        "dataChange": True,
        "stats": json.dumps({"numRecords": spark.sql(rows).count()}),
    }
    return log.commit(path, {"commitInfo": {"operation": "WRITE", "engineInfo": "other"}}, {"add": add}), add["path"]


def found(report: TableReport) -> list[tuple[Any, ...]]:
    return [(f.code, f.severity, f.version, f.path, f.column, (f.facts or {}).get("rows")) for f in report.findings]


@pytest.mark.parametrize(
    ("mode", "tracked"), [("none", "false"), ("name", "true"), pytest.param("id", "false", marks=soak)]
)
def test_rows_that_satisfy_all_are_silent(table: Table, audit: Audit, mode: str, tracked: str) -> None:
    path = table(create, mode=mode, delta__enableRowTracking=tracked)
    report = audit(path, level="data")
    assert (report.findings, report.verdict) == ((), Verdict.PASS)


BROKEN = {
    "check": ("5 AS v, 10", "-5 AS v, -10", "DF06", None),
    "check is null": ("5 AS v, 10", "CAST(NULL AS INT) AS v, CAST(NULL AS INT)", "DF06", None),
    "check below a struct": ("named_struct('x', 1)", "named_struct('x', 100)", "DF06", None),
    "not null": ("1L AS id", "CAST(NULL AS BIGINT) AS id", "DF07", "id"),
    "generated": ("10 AS twice", "11 AS twice", "DF08", "twice"),
    "generated null": ("10 AS twice", "CAST(NULL AS INT) AS twice", "DF08", "twice"),
}
#: One condition of each kind, and NULL in one of them.
AT_ONCE = ("check", "check is null", "not null", "generated")


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        *((name, "none") for name in AT_ONCE),
        ("check below a struct", "name"),
        *(pytest.param(name, "none", marks=soak) for name in BROKEN if name not in AT_ONCE),
        pytest.param("generated", "name", marks=soak),
    ],
)
def test_row_that_breaks_a_condition_is_found(
    spark: SparkSession, table: Table, audit: Audit, name: str, mode: str
) -> None:
    sound, broken, code, column = BROKEN[name]
    path = table(create, mode=mode)
    version, file = add_file(spark, path, ROWS.replace(sound, broken))
    assert audit(path, level="footers").findings == ()
    report = audit(path, level="data")
    assert found(report) == [(code, Severity.ERROR, version, file, column, 1)]
    assert '"path": "another%20file.parquet"' in (report.findings[0].action or "")


def test_partition_value_that_is_not_generated_is_found_where_no_zone_explains_it(
    spark: SparkSession, table: Table, audit: Audit
) -> None:
    path = table(create, mode="none")
    version, file = add_file(spark, path, ROWS, day="2024-01-06")
    assert found(audit(path, level="data")) == [("DF09", Severity.UNDECIDED, version, file, "day", 2)]
    path = table(create, "later", mode="none")
    version, file = add_file(spark, path, ROWS, day="2024-01-08")
    assert found(audit(path, level="data")) == [("DF08", Severity.ERROR, version, file, "day", 2)]
    spark.sql(f"DELETE FROM delta.`{path}` WHERE day = DATE'2024-01-08'")
    assert audit(path, level="data").findings == ()


def change_metadata(path: Path, change: Callable[[dict[str, Any]], Any]) -> int:
    metadata = json.loads(json.dumps(log.last(path, "metaData")))
    schema = json.loads(metadata["schemaString"])
    change({"schema": schema, "properties": metadata["configuration"]})
    metadata["schemaString"] = json.dumps(schema)
    return log.commit(path, {"commitInfo": {"operation": "ADD CONSTRAINT"}}, {"metaData": metadata})


def test_constraint_that_older_rows_break_is_to_blame(table: Table, audit: Audit) -> None:
    path = table(create, mode="none")
    version = change_metadata(path, lambda of: of["properties"].update({"delta.constraints.small": "v < 6"}))
    report = audit(path, level="data")
    assert {f[:3] for f in found(report)} == {("DF06", Severity.ERROR, version)}
    assert "delta.constraints.small" in (report.findings[0].action or "")


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("v > ", "PARSE_SYNTAX_ERROR"),
        pytest.param("is_sound(v)", "it calls is_sound", marks=soak),
        pytest.param("v", "DATATYPE_MISMATCH", marks=soak),
        ("CAST(name AS INT) > 0", "fails on a row"),
        ("v > 6 OR rand() > 2", "it calls rand"),
        pytest.param("at > current_timestamp()", "depends on current_timestamp", marks=soak),
        ("hour(at) < 5", "time zone"),
    ],
)
def test_what_cannot_be_evaluated_is_undecided(table: Table, audit: Audit, expression: str, said: str) -> None:
    path = table(create, mode="none")
    change_metadata(path, lambda of: of["properties"].update({"delta.constraints.odd": expression}))
    report = audit(path, level="data", rules=["DF06", "DF09"])
    assert {(f.code, f.severity) for f in report.findings} == {("DF09", Severity.UNDECIDED)}
    assert said in report.findings[0].message


def test_invariant_is_evaluated(table: Table, audit: Audit) -> None:
    path = table(create, mode="none")
    text = json.dumps({"expression": {"expression": "v <> 7"}})
    version = change_metadata(path, lambda of: of["schema"]["fields"][2]["metadata"].update({INVARIANT: text}))
    assert {f[:3] for f in found(audit(path, level="data"))} == {("DF06", Severity.ERROR, version)}


def test_expressions_that_could_read_more_than_the_row_are_not_evaluated(
    spark: SparkSession, table: Table, audit: Audit, tmp_path: Path
) -> None:
    path, secret = table(create, mode="none"), tmp_path / "key.txt"
    secret.write_text("Alpha")
    spark.udf.register("is_sound", lambda value: value < 0, "boolean")
    hostile = {
        "guess": f"(SELECT count(*) FROM text.`{secret}` WHERE value LIKE 'A%') = 0",
        "code": "java_method('java.lang.System', 'lineSeparator') = ''",
        "function": "is_sound(v)",
        "file": "input_file_name() = ''",
        "user": "current_user() = ''",
    }
    invariant = json.dumps({"expression": {"expression": f"v IN (SELECT 1 FROM text.`{secret}`)"}})

    def add_all(of: dict[str, Any]) -> None:
        of["properties"].update({f"delta.constraints.{name}": text for name, text in hostile.items()})
        of["schema"]["fields"][2]["metadata"][INVARIANT] = invariant
        of["schema"]["fields"][3]["metadata"][GENERATED] = f"(SELECT max(length(value)) FROM text.`{secret}`)"

    try:
        version = change_metadata(path, add_all)
        report = audit(path, level="data", rules=["DF06", "DF08", "DF09"])
    finally:
        spark.sql("DROP TEMPORARY FUNCTION is_sound")
    assert {(f.code, f.severity, f.version) for f in report.findings} == {("DF09", Severity.UNDECIDED, version)}
    subjects = {f"the CHECK constraint {name}," for name in hostile}
    subjects |= {"the invariant of v,", "the generation expression of twice,"}
    assert {next(each for each in subjects if each in f.message) for f in report.findings} == subjects
    assert sum("it has a subquery" in f.message for f in report.findings) == 3
