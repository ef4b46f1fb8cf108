"""Statistics of columns that footers do not decide, against the rows: at level data."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_delta_provider.domain.report.report import TableReport
from tests.tables import log

pytestmark = pytest.mark.nightly

Audit = Callable[..., TableReport]
ROWS = (
    "SELECT CAST(id AS INT) AS i, CAST(97 + id * 0.25 AS DECIMAL(18,2)) AS d, CONCAT('é', id) AS s, "
    "CAST(id / 4 AS DOUBLE) AS f, DATE'2024-01-01' + CAST(id AS INT) AS day, "
    "TIMESTAMP'2024-01-01 12:00:00.123456' + make_interval(0, 0, 0, CAST(id AS INT)) AS at, "
    "TIMESTAMP_NTZ'2024-01-01 12:00:00.123456' AS n, id > 4 AS b, IF(id = 3, NULL, id) AS l FROM range(0, 9, 1, 1)"
)


def deleting(spark: SparkSession, path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """A table whose last row is deleted by a vector, and whose statistics a writer changed."""
    spark.sql(
        f"CREATE TABLE delta.`{path}` USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true') AS {ROWS}"
    )
    spark.sql(f"DELETE FROM delta.`{path}` WHERE i = 8")
    version = log.newest(path)
    actions = log.commits(path)[version]
    add = next(action["add"] for action in actions if "add" in action)
    stats = json.loads(add["stats"])
    change(stats)
    add["stats"] = json.dumps(stats)
    log.log_file(path, version).write_text("".join(json.dumps(action) + "\n" for action in actions))
    for checksum in path.joinpath("_delta_log").rglob("*.crc"):
        checksum.unlink()


def upper(name: str, value: Any) -> Callable[[dict[str, Any]], object]:
    return lambda stats: stats["maxValues"].update({name: value})


#: A maximum of the rows that are left, and one that excludes one of them.
CHANGES = {
    "i": (7, 6),
    "s": ("é7", "é6"),
    "f": (1.75, 1.5),
    "day": ("2024-01-08", "2024-01-07"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_bounds_of_live_rows(spark: SparkSession, tmp_path: Path, audit: Audit, name: str) -> None:
    right, wrong = CHANGES[name]
    for value, expected in ((right, []), (wrong, [("DF14", name)])):
        path = tmp_path / str(value)
        deleting(spark, path, upper(name, value))
        report = audit(path, level="data")
        assert [(f.code, f.column) for f in report.findings] == expected
        assert report.evidence["statistics"]["not_compared"] == {}
        repair = report.evidence["statistics"].get("repair", {"files": []})
        found = [(file["tight"], c["read_from"], c.get("max")) for file in repair["files"] for c in file["columns"]]
        greatest = None if name == "f" else str(right)  # there may be NaN
        assert found == ([(True, "rows", greatest)] if expected else [])


def test_all_types_read_rows(spark: SparkSession, tmp_path: Path, audit: Audit) -> None:
    """Each maximum is that of the first row, so each column is read."""
    path = tmp_path / "t"
    deleting(spark, path, lambda stats: stats.update(maxValues=dict(stats["minValues"])))
    report = audit(path, level="data")
    assert {f.column for f in report.findings if f.code == "DF14"} == {"i", "d", "s", "f", "day", "at", "l"}
    assert report.evidence["statistics"]["not_compared"] == {}


def test_decimals_that_became_doubles(spark: SparkSession, tmp_path: Path, audit: Audit) -> None:
    """A row that is deleted does not hide those that are left outside of the bounds."""
    deltalake, arrow = pytest.importorskip("deltalake"), pytest.importorskip("pyarrow")
    values = [Decimal("9999999999999997.01") + Decimal("0.01") * i for i in range(200)]
    path = tmp_path / "t"
    deltalake.write_deltalake(str(path), arrow.table({"x": arrow.array(values, arrow.decimal128(18, 2))}))
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE x = 9999999999999998.00")
    report = audit(path, level="data")
    assert log.last(path, "add")["deletionVector"]
    assert [f.column for f in report.findings if f.code == "DF14"] == ["x"]
    assert report.evidence["statistics"]["not_compared"] == {}


def test_hidden_rows_are_counted(spark: SparkSession, tmp_path: Path, audit: Audit) -> None:
    """Each engine finds a row without skipping, and none with it; nobody skips by a bound that is right."""
    deltalake, arrow = pytest.importorskip("deltalake"), pytest.importorskip("pyarrow")
    values = [Decimal("9999999999999997.01"), Decimal("9999999999999999.00")]
    path = tmp_path / "t"
    deltalake.write_deltalake(str(path), arrow.table({"x": arrow.array(values, arrow.decimal128(18, 2))}))
    report = audit(path, level="data", show_hidden_rows=True)
    found = [
        (re.sub(r" [\d.]+", "", h["engine"]), h["predicate"], h["rows"], h["found"])
        for h in report.evidence["hidden_rows"]
    ]
    lost = ("x >= 9999999999999999.00", 1, 0)
    assert found == [("Delta Spark", *lost), ("deltalake", *lost), ("deltalake SQL", *lost)]
    assert spark.conf.get("spark.databricks.delta.stats.skipping", None) is None
    spark.sql(f"UPDATE delta.`{path}` SET x = x")
    assert audit(path, level="data", show_hidden_rows=True).evidence["hidden_rows"] == []


def test_hidden_rows_beside_column_mapping(spark: SparkSession, tmp_path: Path, audit: Audit) -> None:
    """to_pyarrow_dataset reads mapped columns as NULL: its number of rows is no answer. SQL reads them."""
    path = tmp_path / "t"
    spark.sql(
        f"CREATE TABLE delta.`{path}` USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name') AS "
        "SELECT id AS `a b`, timestamp_micros(id) AS at FROM range(0, 9, 1, 1)"
    )
    version = log.newest(path)
    actions = log.commits(path)[version]
    add = next(action["add"] for action in actions if "add" in action)
    stats = json.loads(add["stats"])
    stats["maxValues"] = {name: 3 if value == 8 else value for name, value in stats["maxValues"].items()}
    add["stats"] = json.dumps(stats)
    log.log_file(path, version).write_text("".join(json.dumps(action) + "\n" for action in actions))
    for checksum in path.joinpath("_delta_log").rglob("*.crc"):
        checksum.unlink()
    first, *others = audit(path, level="data", show_hidden_rows=True).evidence["hidden_rows"]
    assert (first["predicate"], first.get("problem"), first.get("rows"), first.get("found")) == (
        "`a b` >= 8",
        None,
        1,
        0,
    )
    by_dataset, by_sql = others
    assert "reads other values" in by_dataset["problem"]
    assert (by_sql.get("problem"), by_sql["rows"], by_sql["found"]) == (None, 1, 0), "it reads mapped columns"


NESTED = (
    "SELECT CAST(id AS INT) AS i, IF(id = 3, NULL, struct(IF(id = 4, NULL, id) AS `a.b`, "
    "struct(TIMESTAMP'2024-01-01 12:00:00' + make_interval(0, 0, 0, CAST(id AS INT)) AS at, CONCAT('é', id) AS t) "
    "AS n)) AS s FROM range(0, 9, 1, 1)"
)


def at(stats: dict[str, Any], part: str, path: list[str], value: Any) -> None:
    """Set a statistic of a field, found by its number in each struct: physical names are random."""
    here = stats[part]
    for name in path[:-1]:
        here = here[name]
    here[path[-1]] = value


@pytest.mark.parametrize("mode", ["none", "name", "id"])
def test_fields_of_structs(spark: SparkSession, tmp_path: Path, audit: Audit, mode: str) -> None:
    """Of the rows that are left, ``a.b`` is 0 to 7, and NULL in two; INT96 leaves the times to the rows."""
    path = tmp_path / "t"
    properties = f"'delta.enableDeletionVectors' = 'true', 'delta.columnMapping.mode' = '{mode}'"
    rows = NESTED.replace("`a.b`", "ab") if mode == "none" else NESTED
    spark.sql(f"CREATE TABLE delta.`{path}` USING delta TBLPROPERTIES ({properties}) AS {rows}")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE i = 8")
    version = log.newest(path)
    actions = log.commits(path)[version]
    add = next(action["add"] for action in actions if "add" in action)
    sound = json.loads(add["stats"])
    (s,) = (name for name, value in sound["minValues"].items() if isinstance(value, dict))
    (n,) = (name for name, value in sound["minValues"][s].items() if isinstance(value, dict))
    (b,) = (name for name, value in sound["minValues"][s].items() if not isinstance(value, dict))
    (when,) = (name for name, value in sound["minValues"][s][n].items() if "T" in value)
    (t,) = (name for name in sound["minValues"][s][n] if name != when)
    changes: list[tuple[str, list[str], Any, str]] = [
        ("maxValues", [s, b], 6, "DF14"),
        ("maxValues", [s, n, t], "é6", "DF14"),
        ("maxValues", [s, n, when], "2024-01-01T00:00:00.000Z", "DF14"),
        ("nullCount", [s, b], 0, "DF15"),
        ("maxValues", [s, b], 7, ""),
    ]
    for part, names, value, code in changes:
        stats = json.loads(json.dumps(sound))
        at(stats, part, names, value)
        add["stats"] = json.dumps(stats)
        log.log_file(path, version).write_text("".join(json.dumps(action) + "\n" for action in actions))
        for checksum in path.joinpath("_delta_log").rglob("*.crc"):
            checksum.unlink()
        report = audit(path, level="data")
        assert [f.code for f in report.findings if f.code.startswith("DF")] == ([code] if code else []), names
        assert report.evidence["statistics"]["not_compared"] == {}


@pytest.mark.parametrize(
    ("high", "nulls", "expected"),
    [(7, 1, []), (8, 1, [("DF17", "WARNING")]), (7, 0, [("DF15", "ERROR")]), (7, 2, [("DF16", "WARNING")])],
)
def test_tight_statistics_are_exact_for_rows_that_are_left(
    spark: SparkSession, tmp_path: Path, audit: Audit, high: int, nulls: int, expected: list[tuple[str, str]]
) -> None:
    """Engines may compute statistics again: tight bounds are then those of the rows that are left."""

    def change(stats: dict[str, Any]) -> None:
        stats["tightBounds"] = True
        for part, value in (("minValues", 0), ("maxValues", high), ("nullCount", nulls)):
            stats[part] = {"l": value}

    path = tmp_path / "t"
    deleting(spark, path, change)
    report = audit(path, level="data")
    assert [(f.code, f.severity.name) for f in report.findings] == expected
    assert report.evidence["statistics"]["not_compared"] == {}


def test_damaged_file_does_not_hide_the_rows_of_others(spark: SparkSession, tmp_path: Path, audit: Audit) -> None:
    """Pages of one file are damaged; its footer is not."""
    path = tmp_path / "t"
    spark.sql(f"CREATE TABLE delta.`{path}` USING delta AS SELECT current_timestamp() AS at, id FROM range(2, 3)")
    spark.sql(f"INSERT INTO delta.`{path}` SELECT TIMESTAMP'2024-01-01', id FROM range(100000)")
    adds = [next(a["add"] for a in log.commits(path)[version] if "add" in a) for version in (0, 1)]
    stats = json.loads(adds[0]["stats"])
    stats["maxValues"]["at"] = stats["minValues"]["at"] = "2020-01-01T00:00:00.000Z"
    name = log.log_file(path, 0)
    actions = log.commits(path)[0]
    next(action["add"] for action in actions if "add" in action)["stats"] = json.dumps(stats)
    name.write_text("".join(json.dumps(action) + "\n" for action in actions))
    file = path / adds[1]["path"]
    content = bytearray(file.read_bytes())
    content[4:200] = bytes(196)
    file.write_bytes(content)
    for checksum in path.rglob("*.crc"):
        checksum.unlink()
    report = audit(path, level="data")
    assert [(f.code, f.path) for f in report.findings if f.code == "DF14"] == [("DF14", adds[0]["path"])]
    assert sum(report.evidence["statistics"]["not_compared"].values()) == 1
