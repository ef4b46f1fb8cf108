"""Wait for a new snapshot of an Apache Paimon table, then check that its row ids can be relied upon.

While it waits the task is deferred: it holds no worker and starts no Spark. The check begins where the last one
found all well, which it remembers in ``state_path``; after a rollback, and the first time, it checks all snapshots.
It reads the table's files where Spark can read them: no jar of Paimon's is needed.

Without a ``state_path``, give the check what the sensor pushes, so that it judges only what came after the snapshot
that the sensor knew: ``since_snapshot="{{ ti.xcom_pull('wait_for_snapshot')['since_snapshot'] }}"``.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG, Param

from airflow_delta_provider.operators.check_paimon_row_tracking import PaimonCheckRowTrackingOperator
from airflow_delta_provider.sensors.paimon_row_tracking import PaimonRowTrackingSensor

with DAG(
    dag_id="check_paimon_row_tracking",
    schedule=None,  # to check again and again: "@continuous"
    max_active_runs=1,
    tags=["paimon", "example"],
    params={
        "table": Param("/data/lake/sales.db/orders", type="string", description="A path or a URI"),
        "known_snapshot": Param(
            None, type=["integer", "null"], description="Wait for one after this; null: the newest"
        ),
        "state_path": Param("/data/checks", type="string", description="Where checks remember"),
    },
):
    wait = PaimonRowTrackingSensor(
        task_id="wait_for_snapshot",
        table="{{ params.table }}",
        since_snapshot="{{ params.known_snapshot }}",
        poke_interval=30,
        timeout=timedelta(hours=12).total_seconds(),
    )
    check = PaimonCheckRowTrackingOperator(
        task_id="check_row_ids",
        table="{{ params.table }}",
        level="data",
        state_path="{{ params.state_path }}",
        on_violation="fail",
    )
    wait >> check
