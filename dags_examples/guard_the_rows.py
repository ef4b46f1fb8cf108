"""A gate before readers that also reads rows: each new version is audited by a Spark job at level ``data``.

``guard_a_table`` audits only the log, without Spark. This gate also checks row ids and constraints on rows. It stays
closed until a version passes, and holds no worker between two jobs.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, Param, task

from airflow_delta_provider.sensors.health import DeltaProtocolHealthSensor

with DAG(
    dag_id="guard_the_rows",
    schedule=None,
    tags=["delta", "example"],
    params={
        "table": Param("/data/lake/orders", type="string", description="A path or a URI"),
        "state_path": Param("/data/audits", type="string", description="Where audits remember"),
    },
):
    gate = DeltaProtocolHealthSensor(
        task_id="healthy",
        table="{{ params.table }}",
        engine="spark",
        level="data",
        on_violation="wait",
        state_path="{{ params.state_path }}",
        poke_interval=10,
        timeout=timedelta(hours=6).total_seconds(),
    )

    @task
    def read(seen: dict[str, Any]) -> int:
        """Stand for whatever reads the table; return the version that passed."""
        return int(seen["version"])

    read(gate.output)
