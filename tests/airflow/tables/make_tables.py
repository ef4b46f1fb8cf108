"""Makes the logs in this folder with a real Spark: ``python tests/airflow/tables/make_tables.py``."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from delta import configure_spark_with_delta_pip
from pyspark.sql import SparkSession

HERE = Path(__file__).parent
_ENABLE = "'delta.enableRowTracking' = 'true', 'delta.enableTypeWidening' = 'true'"
#: By table: properties, session settings, how many rows are inserted one by one, and what of the log is kept.
_TABLES = {
    "checksums": ("", {}, 2, ("*.json", "*.crc")),
    "classic_checkpoint": ("'delta.checkpointInterval' = '3'", {}, 3, ("0*3.checkpoint*", "0*4.json")),
    "multi_part_checkpoint": (
        "'delta.checkpointInterval' = '3'",
        {"spark.databricks.delta.checkpoint.partSize": "2"},
        3,
        ("0*3.checkpoint*", "0*4.json"),
    ),
    "v2_parquet_checkpoint": (
        "'delta.checkpointInterval' = '3', 'delta.checkpointPolicy' = 'v2'",
        {"spark.databricks.delta.checkpointV2.topLevelFileFormat": "parquet"},
        3,
        ("0*3.checkpoint*", "0*4.json"),
    ),
    "v2_json_checkpoint": (
        "'delta.checkpointInterval' = '3', 'delta.checkpointPolicy' = 'v2'",
        {"spark.databricks.delta.checkpointV2.topLevelFileFormat": "json"},
        3,
        ("0*3.checkpoint*", "0*4.json"),
    ),
}


def main() -> None:
    builder = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.databricks.delta.snapshotPartitions", "1")
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    )
    spark = configure_spark_with_delta_pip(builder).getOrCreate()
    with tempfile.TemporaryDirectory() as work:
        for name, (properties, settings, rows, kept) in _TABLES.items():
            table = Path(work) / name
            for key, value in settings.items():
                spark.conf.set(key, value)
            listed = ", ".join(filter(None, [_ENABLE, properties]))
            spark.sql(f"CREATE TABLE delta.`{table}` (id INT, city STRING) USING delta TBLPROPERTIES ({listed})")
            for row in range(rows):
                spark.sql(f"INSERT INTO delta.`{table}` VALUES ({row}, 'city {row}')")
            spark.sql(f"INSERT INTO delta.`{table}` VALUES (99, 'after the checkpoint')")
            for key in settings:
                spark.conf.unset(key)
            target = HERE / name / "_delta_log"
            shutil.rmtree(target, ignore_errors=True)
            target.mkdir(parents=True)
            for pattern in kept:
                for file in (table / "_delta_log").glob(pattern):
                    if not file.name.startswith("."):  # those are checksums of Hadoop's
                        shutil.copy(file, target)
    spark.stop()


if __name__ == "__main__":
    main()
