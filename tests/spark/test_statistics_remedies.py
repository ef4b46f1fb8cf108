"""Remedies for wrong statistics, tried: which statements compute them again, and which leave them."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_delta_provider.domain.checks.data_files.file_comparison import EXCLUDED
from airflow_delta_provider.domain.report.report import TableReport
from tests.tables import log

pytestmark = pytest.mark.nightly

Audit = Callable[..., TableReport]
FIRST, LAST, COUNT = Decimal("9999999999999997.01"), Decimal("9999999999999999.00"), 200


def decimals_of_deltalake(spark: SparkSession, path: Path) -> None:
    deltalake, arrow = pytest.importorskip("deltalake"), pytest.importorskip("pyarrow")
    values = [FIRST + Decimal(row) / 100 for row in range(COUNT)]
    numbers = arrow.array(range(COUNT), arrow.int64())
    deltalake.write_deltalake(str(path), arrow.table({"k": numbers, "x": arrow.array(values, arrow.decimal128(18, 2))}))


def integers_of_spark(spark: SparkSession, path: Path) -> None:
    spark.sql(
        f"CREATE TABLE delta.`{path}` USING delta AS SELECT id AS k, IF(id = 7, NULL, id) AS x FROM range(0, 200, 1, 1)"
    )
    actions = log.commits(path)[0]
    add = next(action["add"] for action in actions if "add" in action)
    stats = json.loads(add["stats"])
    stats["maxValues"]["x"], stats["nullCount"]["x"] = 0, 0
    add["stats"] = json.dumps(stats)
    log.log_file(path, 0).write_text("".join(json.dumps(action) + "\n" for action in actions))
    for checksum in path.joinpath("_delta_log").rglob("*.crc"):
        checksum.unlink()


WRITERS = {"decimals of deltalake": decimals_of_deltalake, "integers of Spark": integers_of_spark}


def sql(statement: str) -> Callable[[SparkSession, Path], object]:
    return lambda spark, path: spark.sql(statement.format(t=f"delta.`{path}`")).collect()


def recompute(spark: SparkSession, path: Path) -> None:
    jvm = spark._jvm
    assert jvm is not None
    tables = jvm.org.apache.spark.sql.delta
    defaults = [getattr(tables.stats.StatisticsCollection, f"recompute$default${number}")() for number in (4, 5)]
    session, none = spark._jsparkSession, jvm.scala.Option.empty()
    found = tables.DeltaLog.forTable(session, str(path))
    tables.stats.StatisticsCollection.recompute(session, found, none, *defaults)


def by_deltalake(spark: SparkSession, path: Path) -> None:
    pytest.importorskip("deltalake").DeltaTable(str(path)).update(updates={"x": "x"})


#: Statements, and whether they compute statistics again.
STATEMENTS: dict[str, tuple[Callable[[SparkSession, Path], object], bool]] = {
    "UPDATE": (sql("UPDATE {t} SET x = x"), True),
    "ZORDER": (sql("OPTIMIZE {t} ZORDER BY (k)"), True),
    "recompute": (recompute, True),
    "OPTIMIZE": (sql("OPTIMIZE {t}"), False),
    "REORG": (sql("REORG TABLE {t} APPLY (PURGE)"), False),
    "UPDATE with a condition": (sql("UPDATE {t} SET x = x WHERE x > 9999999999999998.50 OR x BETWEEN 9 AND 99"), False),
}


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("statement", STATEMENTS)
def test_statements_of_delta_spark(
    spark: SparkSession, tmp_path: Path, audit: Audit, writer: str, statement: str
) -> None:
    path = tmp_path / "t"
    WRITERS[writer](spark, path)
    assert EXCLUDED.code in {finding.code for finding in audit(path, level="footers").findings}
    run, helps = STATEMENTS[statement]
    run(spark, path)
    broken = {f.code for f in audit(path, level="footers").findings if f.is_open and f.code.startswith("DF")}
    assert (not broken) is helps


def test_deltalake_rounds_decimals_again(spark: SparkSession, tmp_path: Path, audit: Audit) -> None:
    path = tmp_path / "t"
    decimals_of_deltalake(spark, path)
    by_deltalake(spark, path)
    assert EXCLUDED.code in {f.code for f in audit(path, level="footers").findings if f.is_open}


@pytest.mark.parametrize("writer", WRITERS)
def test_property_stops_skipping(spark: SparkSession, tmp_path: Path, writer: str) -> None:
    dataset = pytest.importorskip("pyarrow.dataset")
    deltalake = pytest.importorskip("deltalake")
    path = tmp_path / "t"
    WRITERS[writer](spark, path)
    bound = LAST if writer == "decimals of deltalake" else 199

    def found() -> tuple[int, int]:
        table = deltalake.DeltaTable(str(path))
        return (
            spark.sql(f"SELECT k FROM delta.`{path}` WHERE x >= {bound}").count(),
            table.to_pyarrow_table(filters=dataset.field("x") >= bound).num_rows,
        )

    assert found() == (0, 0)
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.dataSkippingNumIndexedCols' = '0')")
    assert found() == (1, 1)
