"""Delete old files only if no stream still needs them.

The check reads the table's log, lists its folder, and reads the offsets of a stream, without Spark. If a VACUUM would
delete files that the stream has not read yet, the check fails, and the VACUUM does not run.
"""

from __future__ import annotations

from airflow.sdk import DAG, Param, task

from airflow_delta_provider.operators.check_retention import DeltaCheckRetentionOperator

with DAG(
    dag_id="check_before_vacuum",
    schedule=None,
    tags=["delta", "example"],
    params={
        "table": Param("/data/lake/orders", type="string", description="A path or a URI"),
        "checkpoint": Param("/data/checkpoints/daily", type="string", description="The checkpoint of a stream"),
    },
):
    check = DeltaCheckRetentionOperator(
        task_id="check",
        table="{{ params.table }}",
        level="files",
        consumers=["{{ params.checkpoint }}"],
        on_undetermined="fail",
        engine="python",
    )

    @task
    def vacuum(table: str) -> str:
        """Stand for the task that runs VACUUM; return its table."""
        return table

    check >> vacuum("{{ params.table }}")
