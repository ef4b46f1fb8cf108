"""Four states of one table with row tracking: as inserted, after an UPDATE, after a MERGE, after OPTIMIZE."""

from __future__ import annotations

import shutil
from pathlib import Path

from pyspark.sql import SparkSession

#: The states in the order in which each is made of the one before it, with the statements that do. ``{t}`` is the
#: table, ``{rows}`` how many rows it began with.
STATES = {
    "fresh": "",
    "UPDATE": "UPDATE {t} SET v = 1 WHERE k % ({rows} DIV 200) = 77",
    "MERGE": "MERGE INTO {t} t USING (SELECT id * 100 k FROM range({rows} DIV 100) UNION ALL "
    "SELECT id + {rows} k FROM range({rows} DIV 200)) s ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = 2 "
    "WHEN NOT MATCHED THEN INSERT (k, g, v, s) VALUES (s.k, 1, 1.0, 'x')",
    "OPTIMIZE": "OPTIMIZE {t}",
}


def make_tables(spark: SparkSession, folder: Path, rows: int, files: int) -> dict[str, Path]:
    """Write the four tables into ``folder``, the first one with ``rows`` rows in ``files`` files."""
    tables: dict[str, Path] = {}
    for state, statement in STATES.items():
        table = folder / state
        name = f"delta.`{table}`"
        if not tables:
            spark.sql(
                f"CREATE TABLE {name} (k BIGINT, g INT, v DOUBLE, s STRING) USING delta TBLPROPERTIES "
                "('delta.enableRowTracking' = 'true', 'delta.enableDeletionVectors' = 'true')"
            )
            written = spark.range(0, rows, 1, files)
            columns = ("id AS k", "CAST(id % 1000 AS int) AS g", "rand(1) AS v", "concat('n', id % 5000) AS s")
            written.selectExpr(*columns).write.format("delta").mode("append").save(str(table))
        else:
            shutil.copytree(list(tables.values())[-1], table)
            spark.sql(statement.format(t=name, rows=rows))
        tables[state] = table
    return tables
