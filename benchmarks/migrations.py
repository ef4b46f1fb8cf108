"""Twenty changes of one table: a migration, which makes one commit of them, against twenty ALTER TABLE statements.

Inside one running session, on equal tables; the migration also plans, checks its commit by every rule of the audit, and
plans again afterwards. The statements run twice: with Spark's and Delta's default numbers of partitions, as in a
session with the documented configuration, and with the few that our local profile sets. Prints seconds of each, median
of interleaved runs, and the ratios.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from airflow_delta_provider.domain.report.verdict import Verdict
from airflow_delta_provider.domain.request.apply_migration import ApplyMigrationOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.spark.delta.delta_session import SparkDeltaSession
from airflow_delta_provider.jobs.spark.session.spark_session import own_session

_PARTITIONS = ("spark.databricks.delta.snapshotPartitions", "spark.sql.shuffle.partitions")
_BY_DEFAULT = "20 ALTER, defaults"

#: The same twenty changes, as a spec and as statements.
DECLARED: dict[str, Any] = {
    "columns": [
        *({"name": f"c{n}", "type": "bigint"} for n in range(5)),
        *({"name": f"renamed{n}", "renamed_from": f"c{n}"} for n in range(5, 10)),
        *({"name": f"c{n}", "comment": f"column {n}"} for n in range(10, 13)),
        *({"name": f"added{n}", "type": "string"} for n in range(5)),
    ],
    "drop": ["c18", "c19"],
}
STATEMENTS = (
    *(f"ALTER COLUMN c{n} TYPE bigint" for n in range(5)),
    *(f"RENAME COLUMN c{n} TO renamed{n}" for n in range(5, 10)),
    *(f"ALTER COLUMN c{n} COMMENT 'column {n}'" for n in range(10, 13)),
    *(f"ADD COLUMNS (added{n} string)" for n in range(5)),
    *(f"DROP COLUMN c{n}" for n in (18, 19)),
)


def make_table(spark: SparkSession, path: Path) -> None:
    """Write a table of twenty integer columns at ``path``, with column mapping and type widening."""
    columns = ", ".join(f"CAST(id AS int) AS c{n}" for n in range(20))
    spark.sql(
        f"CREATE TABLE delta.`{path}` USING delta TBLPROPERTIES ('delta.enableTypeWidening' = 'true', "
        f"'delta.columnMapping.mode' = 'name') AS SELECT {columns} FROM range(5000)"
    )


def main() -> None:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    session = SparkDeltaSession(own_session("benchmark", "local[2]"))

    def ours(table: Path) -> None:
        report = run(JobRequest((str(table),), ApplyMigrationOptions(spec=(DECLARED,))), session)
        if report.verdict is not Verdict.PASS:
            raise SystemExit(report.to_json())

    def statements(table: Path) -> None:
        for statement in STATEMENTS:
            session.sql(f"ALTER TABLE delta.`{table}` {statement}")

    def statements_by_default(table: Path) -> None:
        kept = {key: session.spark.conf.get(key) for key in _PARTITIONS}
        for key in kept:
            session.spark.conf.unset(key)
        statements(table)
        for key, value in kept.items():
            session.spark.conf.set(key, value)

    variants: dict[str, Callable[[Path], None]] = {
        "migration": ours,
        _BY_DEFAULT: statements_by_default,
        "20 ALTER, our profile": statements,
    }
    seconds: dict[str, list[float]] = {name: [] for name in variants}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(runs + 1):
            for variant, (name, change) in enumerate(variants.items()):
                table = Path(folder) / f"{variant}-{number}"
                make_table(session.spark, table)
                started = time.monotonic()
                change(table)
                if number:  # the first of each warms the session
                    seconds[name].append(time.monotonic() - started)
    session.spark.stop()
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    slowest = medians[_BY_DEFAULT]
    for name, median in medians.items():
        each = ", ".join(f"{value:.2f}" for value in seconds[name])
        print(f"{name:24}{median:8.2f} s   1/{slowest / median:.1f}   ({each})")


if __name__ == "__main__":
    main()
