"""Odd values of every type, as Delta Spark writes them: its statistics are sound, at levels footers and data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_delta_provider.domain.report.report import TableReport, Verdict
from tests.tables import odd_values

pytestmark = pytest.mark.soak

Audit = Callable[..., TableReport]
PROPERTIES = {
    "plain": "",
    "mapped": "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
}
#: Forms of timestamps in files.
TIMES = ("INT96", "TIMESTAMP_MICROS")
WIDER = {"byte": "int", "short": "bigint", "integer": "bigint", "float": "double", "date": "timestamp_ntz"}


def written(spark: SparkSession, path: Path, name: str, properties: str) -> None:
    frame = spark.createDataFrame(odd_values.frame(name))
    frame.createOrReplaceTempView("odd")
    spark.sql(f"CREATE TABLE delta.`{path}` USING delta {properties} AS SELECT * FROM odd")


@pytest.mark.parametrize("properties", PROPERTIES)
@pytest.mark.parametrize(
    ("name", "times"),
    [(name, times) for name in odd_values.ODD for times in (TIMES if name.startswith("instant") else TIMES[:1])],
)
def test_statistics_of_delta_spark_are_sound(
    spark: SparkSession, tmp_path: Path, audit: Audit, name: str, times: str, properties: str
) -> None:
    spark.conf.set("spark.sql.parquet.outputTimestampType", times)
    path = tmp_path / "t"
    try:
        written(spark, path, name, PROPERTIES[properties])
    finally:
        spark.conf.unset("spark.sql.parquet.outputTimestampType")
    for level in ("footers", "data"):
        report = audit(path, level=level)
        assert report.verdict is Verdict.PASS, [finding.message for finding in report.findings]
        assert level == "footers" or report.evidence["statistics"]["not_compared"] == {}


@pytest.mark.parametrize("name", WIDER)
def test_widened_columns_are_compared_in_the_type_of_the_file(
    spark: SparkSession, tmp_path: Path, audit: Audit, name: str
) -> None:
    path = tmp_path / "t"
    properties = "'delta.enableTypeWidening' = 'true', 'delta.feature.timestampNtz' = 'supported'"
    written(spark, path, name, f"TBLPROPERTIES ({properties})")
    spark.sql(f"ALTER TABLE delta.`{path}` ALTER COLUMN {name} TYPE {WIDER[name]}")
    report = audit(path, level="footers")
    assert report.verdict is Verdict.PASS, [finding.message for finding in report.findings]
    statistics = report.evidence["statistics"]
    assert (statistics["not_compared"], statistics["compared"]) == ({}, report.evidence["files"])
