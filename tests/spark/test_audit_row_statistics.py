"""Statistics of columns that footers do not decide, against the rows: at level data."""

from __future__ import annotations

import json
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
