"""A gate before readers, without Spark and without a worker: wait until the newest version passes an audit.

While it waits the task is deferred; a thread of the triggerer audits what is new in the table's log. A table that
breaks a rule fails the gate, and the task names the findings. With ``on_violation="wait"`` the gate stays closed until
a later version fixes it.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, Param, task

from airflow_delta_provider.sensors.health import DeltaProtocolHealthSensor

with DAG(
    dag_id="guard_a_table",
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
        state_path="{{ params.state_path }}",
        poke_interval=30,
        timeout=timedelta(hours=6).total_seconds(),
    )

    @task
    def read(seen: dict[str, Any]) -> int:
        """Stand for whatever reads the table; return the version that passed."""
        return int(seen["version"])

    read(gate.output)
