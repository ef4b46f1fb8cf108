"""Read a table only once its columns are wide enough, whoever widens them.

While it waits the task is deferred: it holds no worker and starts no Spark. A column that was widened further also
passes. A type that widening cannot lead to fails the task instead of letting it wait.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, Param, task

from airflow_delta_provider.sensors.column_types import DeltaTypesSensor

with DAG(
    dag_id="wait_for_types",
    schedule=None,
    tags=["delta", "example"],
    params={
        "table": Param("/data/lake/orders", type="string", description="A path or a URI"),
        "columns": Param({"quantity": "bigint"}, type="object", description="The type that each column needs"),
    },
):
    wide_enough = DeltaTypesSensor(
        task_id="wide_enough",
        table="{{ params.table }}",
        columns="{{ params.columns }}",
        poke_interval=10,
        timeout=timedelta(hours=12).total_seconds(),
    )

    @task
    def read(seen: dict[str, Any]) -> int:
        """Stand for whatever reads the table; return the version that has the types."""
        return int(seen["version"])

    read(wide_enough.output)
