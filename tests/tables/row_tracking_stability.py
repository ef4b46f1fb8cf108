"""Tables with row tracking whose rows can be told by keys: what happened to both, a commit at a time."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from tests.tables import log

#: Keys of :func:`keyed`, as a request names them.
KEYS = ("`k.1`", "`o``k`")
_ON = {"delta.enableRowTracking": "true", "delta.checkpointInterval": "100"}
_KEYED = {
    1: "INSERT INTO {t} SELECT IF(id < 2, NULL, concat('n', id)), IF(id = 0, NULL, id), "
    "IF(id < 4, 'a', 'b'), 1, map() FROM range(0, 8, 1, 2)",
    2: "UPDATE {t} SET p = 'c' WHERE `o``k` IS NULL OR `o``k` = 5",
    3: "DELETE FROM {t} WHERE `o``k` IN (2, 6)",
    4: "INSERT INTO {t} VALUES ('n2', 2, 'b', 2, map()), ('n9', 9, 'b', 2, map())",
    5: "UPDATE {t} SET `o``k` = 7 - `o``k`, `k.1` = concat('n', 7 - `o``k`) WHERE `o``k` IN (3, 4)",
    6: "INSERT INTO {t} REPLACE WHERE p = 'b' SELECT 'n7', 7, 'b', 3, map()",
}


def keyed(spark: SparkSession, path: Path) -> None:
    """Keys with nulls under names that need quotes, in partitions; version by version:

    1 eight rows, 2 two of them go to another partition, 3 two are deleted, 4 one of their keys is inserted again,
    5 two rows exchange their keys, 6 one partition is overwritten, one of its keys stays.
    """
    properties = {**_ON, "delta.enableDeletionVectors": "true", "delta.columnMapping.mode": "name"}
    columns = "`k.1` string, `o``k` bigint, p string, v int, m map<int, int>"
    _create(spark, path, columns, properties, "PARTITIONED BY (p)")
    for version, statement in _KEYED.items():
        _run(spark, path, statement)
        assert log.newest(path) == version


def rewritten(spark: SparkSession, path: Path, *, deletion_vectors: bool = False) -> None:
    """Two files of three rows (1), a row of each updated (2), all rows in one file (3)."""
    properties = {**_ON, "delta.enableDeletionVectors": str(deletion_vectors).lower()}
    _create(spark, path, "id bigint, v int", properties)
    _run(
        spark,
        path,
        "INSERT INTO {t} SELECT id, 1 FROM range(0, 6, 1, 2)",
        "UPDATE {t} SET v = 2 WHERE id IN (1, 4)",
        "OPTIMIZE {t}",
    )


def files_rewritten(spark: SparkSession, path: Path) -> None:
    """Two files (1), a row of each updated (2), deleted rows purged (3), the column mapping removed (4)."""
    properties = {**_ON, "delta.columnMapping.mode": "name", "delta.enableDeletionVectors": "true"}
    _create(spark, path, "id int, v int", properties)
    _run(
        spark,
        path,
        "INSERT INTO {t} SELECT id, 1 FROM range(0, 6, 1, 2)",
        "UPDATE {t} SET v = 2 WHERE id IN (1, 4)",
        "REORG TABLE {t} APPLY (PURGE)",
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none')",
    )


def _create(spark: SparkSession, path: Path, columns: str, properties: dict[str, str], clause: str = "") -> None:
    listed = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
    _run(spark, path, f"CREATE TABLE {{t}} ({columns}) USING delta {clause} TBLPROPERTIES ({listed})")


def _run(spark: SparkSession, path: Path, *statements: str) -> None:
    for statement in statements:
        spark.sql(statement.replace("{t}", f"delta.`{path}`"))
