"""Tables whose log begins at a checkpoint: the commits up to it are gone, as after log clean-up."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from tests.tables import log

_POLICY = {"classic": "classic", "multi_part": "classic", "v2_json": "v2", "v2_parquet": "v2"}


def twice_checkpointed(spark: SparkSession, path: Path, *, kind: str) -> None:
    """Commits 0 to 6 of row tracking, a file of one row in each from 1 on; checkpoints of versions 2 and 4."""
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id int) USING delta TBLPROPERTIES ('delta.enableRowTracking' = 'true', "
        f"'delta.checkpointPolicy' = '{_POLICY[kind]}')"
    )
    for number in range(1, 7):
        spark.sql(f"INSERT INTO delta.`{path}` VALUES ({number})")
        if number in (2, 4):
            _checkpoint(spark, path, kind)


def checkpointed(spark: SparkSession, path: Path, *, kind: str) -> None:
    """Five files of one row, row tracking supported, property ``team``; the last file after the checkpoint.

    :param kind: ``classic``, ``multi_part``, ``v2_json`` or ``v2_parquet``; the v2 ones have sidecars
    """
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id int) USING delta TBLPROPERTIES ('team' = 'a', "
        f"'delta.feature.rowTracking' = 'supported', 'delta.checkpointPolicy' = '{_POLICY[kind]}')"
    )
    spark.sql(f"INSERT INTO delta.`{path}` SELECT CAST(id AS int) FROM range(0, 4, 1, 4)")
    _checkpoint(spark, path, kind)
    spark.sql(f"INSERT INTO delta.`{path}` VALUES (4)")
    for version in range(2):
        for suffix in (".json", ".crc"):
            log.log_file(path, version, suffix).unlink(missing_ok=True)
            log.log_file(path, version, suffix).with_name(f".{version:020d}{suffix}.crc").unlink(missing_ok=True)


def _checkpoint(spark: SparkSession, path: Path, kind: str) -> None:
    settings = {
        "spark.databricks.delta.checkpoint.partSize": "2" if kind == "multi_part" else "1000",
        "spark.databricks.delta.checkpointV2.topLevelFileFormat": "json" if kind == "v2_json" else "parquet",
    }
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        jvm = spark._jvm
        delta_log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, str(path))
        none = getattr(getattr(jvm.scala, "None$"), "MODULE$")
        delta_log.checkpoint(delta_log.update(False, none, none), none)
    finally:
        for key in settings:
            spark.conf.unset(key)
