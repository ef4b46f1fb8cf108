"""Read changes by row id only once the row ids of a table are proved to be unique.

Each new version leads to one Spark job that reads the row ids. Between two jobs the task is deferred: it holds no
worker. A table without row tracking is waited for until somebody enables it.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, Param, task

from airflow_delta_provider.sensors.row_tracking import DeltaRowTrackingSensor

with DAG(
    dag_id="wait_for_row_tracking",
    schedule=None,
    tags=["delta", "example"],
    params={"table": Param("/data/lake/orders", type="string", description="A path or a URI")},
):
    unique = DeltaRowTrackingSensor(
        task_id="row_ids_are_unique",
        table="{{ params.table }}",
        level="data",
        poke_interval=10,
        timeout=timedelta(hours=12).total_seconds(),
    )

    @task
    def read(seen: dict[str, Any]) -> int:
        """Stand for whatever reads the table; return the version whose row ids are unique."""
        return int(seen["version"])

    read(unique.output)
