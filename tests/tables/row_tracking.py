"""Tables with row tracking as Delta writes them: one story each, tens of rows.

Statements have the table as ``{t}``. All rows have a column ``id`` that is unique in the table.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from airflow_delta_provider.jobs.spark.session import configured
from tests.tables import log
from tests.tables.beginning import beginning_as

_ON = {"delta.enableRowTracking": "true", "delta.enableDeletionVectors": "true"}
_ROWS = "SELECT id, concat('n', id), CAST(id AS int) FROM range"
#: What happens to the table of :func:`operations`, by the version it makes. Versions up to ``MOVED`` keep
#: the ids of all rows that stay.
OPERATIONS = {
    1: f"INSERT INTO {{t}} {_ROWS}(0, 12, 1, 3)",
    2: f"INSERT INTO {{t}} {_ROWS}(12, 16, 1, 1)",
    3: "UPDATE {t} SET v = v + 100 WHERE id IN (1, 5, 13)",
    4: "MERGE INTO {t} AS t USING (SELECT id FROM range(14, 18, 1, 1)) AS s ON t.id = s.id "
    "WHEN MATCHED AND t.id = 15 THEN DELETE WHEN MATCHED THEN UPDATE SET v = -1 "
    "WHEN NOT MATCHED THEN INSERT (id, name, v) VALUES (s.id, 'merged', 0)",
    5: "DELETE FROM {t} WHERE id IN (0, 16)",
    6: "OPTIMIZE {t}",
    7: "UPDATE {t} SET v = -2 WHERE id = 2",
    8: "OPTIMIZE {t} ZORDER BY (v)",
    9: "RESTORE TABLE {t} TO VERSION AS OF 5",
    10: f"INSERT OVERWRITE {{t}} {_ROWS}(3, 9, 1, 2)",
    11: "UPDATE {t} SET v = -3 WHERE id = 4",
    12: "CREATE OR REPLACE TABLE {t} USING delta AS "
    "SELECT id, concat('n', id) AS name, CAST(id AS int) AS v FROM range(5, 9, 1, 2)",
    13: "DELETE FROM {t}",
    14: f"INSERT INTO {{t}} {_ROWS}(5, 7, 1, 1)",
}
MOVED = 9
#: How many rows each version has.
ROWS = (0, 12, 16, 16, 17, 15, 15, 15, 15, 15, 6, 6, 4, 0, 2)


def operations(spark: SparkSession, path: Path) -> None:
    """Every operation in turn, see :data:`OPERATIONS`."""
    _create(spark, path)
    _operate(spark, path, max(OPERATIONS))


def operations_without_vectors(spark: SparkSession, path: Path) -> None:
    """Those that keep ids, up to ``MOVED``: files are written anew for each row that changes."""
    _create(spark, path, {"delta.enableDeletionVectors": "false"})
    _operate(spark, path, MOVED)


def without_vectors(spark: SparkSession, path: Path) -> None:
    """Rows that an UPDATE, a MERGE and a DELETE moved without deletion vectors, with those that they left alone."""
    _create(spark, path, {"delta.enableDeletionVectors": "false"})
    _run(spark, path, *(OPERATIONS[version] for version in (1, 3, 4, 5)))


def partitioned(spark: SparkSession, path: Path) -> None:
    """Partition values that need escapes in a path, twice over in the log; an update in each."""
    _create(spark, path, clause="PARTITIONED BY (name)")
    values = "'a b', 'a%20b', 'ü/ö', 'x=y', '', NULL, 'it''s #1?', 'a:b'"
    several = f"SELECT id, element_at(array({values}), CAST(id % 8 AS int) + 1), 0 FROM range(0, 32, 1, 1)"
    _run(spark, path, f"INSERT INTO {{t}} {several}", "UPDATE {t} SET v = 1 WHERE id < 12")


def clustered(spark: SparkSession, path: Path) -> None:
    """Liquid clustering, file names below random prefixes."""
    _create(
        spark,
        path,
        {"delta.randomizeFilePrefixes": "true", "delta.randomPrefixLength": "3"},
        clause="CLUSTER BY (v)",
    )
    _run(spark, path, _insert(0, 12, files=3), "DELETE FROM {t} WHERE id % 4 = 1", "OPTIMIZE {t}")
    _run(spark, path, "UPDATE {t} SET v = 0 WHERE id = 2")


def mapped(spark: SparkSession, path: Path, *, mode: str) -> None:
    """Column mapping; a column renamed, one dropped and one added between updates.

    :param mode: ``name`` or ``id``
    """
    _create(spark, path, {"delta.columnMapping.mode": mode}, columns="id bigint, name string, v int, w int")
    _run(
        spark,
        path,
        "INSERT INTO {t} SELECT id, 'n', 0, 0 FROM range(0, 8, 1, 2)",
        "UPDATE {t} SET v = 1 WHERE id IN (1, 6)",
        "ALTER TABLE {t} RENAME COLUMN v TO `v 2`",
        "ALTER TABLE {t} DROP COLUMN w",
        "ALTER TABLE {t} ADD COLUMN w int",
        "UPDATE {t} SET `v 2` = 2, w = 3 WHERE id IN (1, 2)",
    )


def widened(spark: SparkSession, path: Path) -> None:
    """Types widened; columns called as whoever computes row ids may call theirs."""
    names = "row_id int, base_row_id int, position int, pos smallint, path string, file_path string, row_index float"
    _create(spark, path, {"delta.enableTypeWidening": "true"}, columns=f"id int, {names}")
    values = "CAST(id AS int), 1, 1, 1, 1, 'p', 'f', 1.5"
    _run(
        spark,
        path,
        f"INSERT INTO {{t}} SELECT {values} FROM range(0, 8, 1, 2)",
        "ALTER TABLE {t} ALTER COLUMN id TYPE bigint, row_id TYPE bigint, row_index TYPE double",
        f"INSERT INTO {{t}} SELECT {values} FROM range(8, 10, 1, 1)",
        "UPDATE {t} SET row_id = 1234567890123, pos = NULL WHERE id IN (1, 9)",
        "OPTIMIZE {t}",
        "UPDATE {t} SET row_id = 2 WHERE id = 3",
    )


def widened_in_place(spark: SparkSession, path: Path) -> None:
    """A type widened; the file from before is live."""
    _create(spark, path, {"delta.enableTypeWidening": "true"}, columns="id int")
    _run(
        spark,
        path,
        "INSERT INTO {t} SELECT CAST(id AS int) FROM range(0, 8, 1, 1)",
        "ALTER TABLE {t} ALTER COLUMN id TYPE bigint",
        "INSERT INTO {t} SELECT id FROM range(8, 10, 1, 1)",
    )


def enabled_late(spark: SparkSession, path: Path) -> None:
    """Three files, an update and a deletion before row tracking is enabled; an update after."""
    _create(spark, path, {"delta.enableRowTracking": "false"})
    _run(spark, path, _insert(0, 6, files=2), _insert(6, 9), "UPDATE {t} SET v = 1 WHERE id = 4")
    with configured(spark, {"spark.databricks.delta.backfill.maxNumFiles": "2"}):
        _run(spark, path, "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')")
    _run(spark, path, "UPDATE {t} SET v = 2 WHERE id IN (4, 7)")


def enabled_again(spark: SparkSession, path: Path) -> None:
    """Row tracking dropped from the protocol and enabled again: files keep columns of before."""
    _create(spark, path)
    _run(
        spark,
        path,
        _insert(0, 8, files=2),
        "UPDATE {t} SET v = 1 WHERE id IN (1, 6)",
        "ALTER TABLE {t} DROP FEATURE rowTracking",
        _insert(8, 10),
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')",
        "UPDATE {t} SET v = 2 WHERE id IN (1, 9)",
    )


def cloned(spark: SparkSession, path: Path) -> None:
    """A shallow clone: it numbers the source's files anew, and knows not their materialized columns."""
    source = path.parent / "source"
    _create(spark, source)
    _run(spark, source, _insert(0, 8, files=2), "UPDATE {t} SET v = 1 WHERE id IN (1, 6)")
    _run(spark, path, f"CREATE TABLE {{t}} SHALLOW CLONE delta.`{source}`", "UPDATE {t} SET v = 2 WHERE id IN (1, 2)")


def written_concurrently(spark: SparkSession, path: Path) -> None:
    """Three writers append and update at once, each rows of its own partition, in two files."""
    _create(spark, path, clause="PARTITIONED BY (name)")
    failures: list[BaseException] = []

    def write(writer: int) -> None:
        own, first = spark.newSession(), 100 * writer
        try:
            own.sql(f"INSERT INTO delta.`{path}` SELECT id, 'w{writer}', 0 FROM range({first}, {first + 8}, 1, 2)")
            own.sql(f"UPDATE delta.`{path}` SET v = 1 WHERE name = 'w{writer}' AND id % 3 = 0")
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def checkpointed(spark: SparkSession, path: Path, *, kind: str) -> None:
    """Updates before and after a checkpoint; the commits before it are gone, as after log clean-up.

    :param kind: ``v2``, or ``struct``: classic with the statistics as structs only
    """
    properties = {
        "delta.checkpointPolicy": "v2" if kind == "v2" else "classic",
        "delta.checkpointInterval": "3",
        "delta.checkpoint.writeStatsAsJson": str(kind != "struct").lower(),
        "delta.checkpoint.writeStatsAsStruct": str(kind == "struct").lower(),
    }
    _create(spark, path, properties)
    _run(
        spark,
        path,
        _insert(0, 12, files=3),
        "UPDATE {t} SET v = 1 WHERE id IN (1, 6)",
        "DELETE FROM {t} WHERE id = 2",  # the checkpoint
        "UPDATE {t} SET v = 2 WHERE id IN (1, 7)",
    )
    assert list(path.glob("_delta_log/*3.checkpoint*"))
    for version in range(3):
        for found in path.glob(f"_delta_log/*{version:020d}.*"):
            found.unlink()


@beginning_as(enabled_late)
def restored_untracked(spark: SparkSession, path: Path) -> None:
    """Restored to before row tracking was enabled, and enabled again: files get their second ids."""
    _run(
        spark,
        path,
        "RESTORE TABLE {t} TO VERSION AS OF 2",
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')",
    )


def empty(spark: SparkSession, path: Path) -> None:
    """No file was ever written."""
    _create(spark, path)


def _operate(spark: SparkSession, path: Path, last: int) -> None:
    for version in range(1, last + 1):
        _run(spark, path, OPERATIONS[version])
        assert log.newest(path) == version


def _create(
    spark: SparkSession,
    path: Path,
    properties: Mapping[str, str] | None = None,
    *,
    columns: str = "id bigint, name string, v int",
    clause: str = "",
) -> None:
    both = {**_ON, "delta.checkpointInterval": "100", **(properties or {})}
    listed = ", ".join(f"'{key}' = '{value}'" for key, value in both.items())
    _run(spark, path, f"CREATE TABLE {{t}} ({columns}) USING delta {clause} TBLPROPERTIES ({listed})")


def _insert(first: int, end: int, *, files: int = 1) -> str:
    return f"INSERT INTO {{t}} {_ROWS}({first}, {end}, 1, {files})"


def _run(spark: SparkSession, path: Path, *statements: str) -> None:
    for statement in statements:
        spark.sql(statement.replace("{t}", f"delta.`{path}`"))
