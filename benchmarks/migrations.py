"""Twenty changes of one table: a migration, which makes one commit of them, against twenty ALTER TABLE statements.

Inside one running session, on equal tables; the migration also plans, checks its commit by every rule of the audit, and
plans again afterwards. The statements run twice: with Spark's and Delta's default numbers of partitions, and with the
few that our local profile sets.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from airflow_delta_provider.domain.request.migration_options import ApplyMigrationOptions
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from benchmarks.side_by_side import compare, job, script

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


def make_table(session: SparkDeltaSession, path: Path) -> None:
    """Write a table of twenty integer columns at ``path``, with column mapping and type widening."""
    columns = ", ".join(f"CAST(id AS int) AS c{n}" for n in range(20))
    session.spark.sql(
        f"CREATE TABLE delta.`{path}` USING delta TBLPROPERTIES ('delta.enableTypeWidening' = 'true', "
        f"'delta.columnMapping.mode' = 'name') AS SELECT {columns} FROM range(5000)"
    )


def main() -> None:
    """Run the benchmark and print its table."""
    variants = {
        "migration": job(ApplyMigrationOptions(spec=(DECLARED,))),
        "20 ALTER, defaults": script(STATEMENTS, by_default=True),
        "20 ALTER, our profile": script(STATEMENTS, by_default=False),
    }
    compare(__doc__, make_table, variants)


if __name__ == "__main__":
    main()
