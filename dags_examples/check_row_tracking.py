"""Every night, prove of several tables that their row ids are unique, in one job.

The check changes nothing and reads no table data but the columns in which rewritten files keep their row
ids. The task fails if a table breaks a rule, and its findings say which files and which ids. A table
without row tracking is UNDETERMINED: there is nothing to prove, and the task goes on with a warning.

A check may run beside writers: it looks at the version that it found. The ``pool`` that it shares with
other DAGs bounds how many Spark jobs run at a time, and ``max_active_tis_per_dag`` keeps a long night's
check from meeting the next one.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from airflow.sdk import DAG, Param

from airflow_delta_provider.operators.check_row_tracking import DeltaCheckRowTrackingOperator

with DAG(
    dag_id="check_row_tracking",
    schedule=None,  # for every night: "30 2 * * *"
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    tags=["delta", "example"],
    params={
        "tables": Param(["/data/lake/orders", "/data/lake/returns"], type="array", description="Paths or URIs"),
    },
):
    DeltaCheckRowTrackingOperator(
        task_id="check_row_ids",
        tables="{{ params.tables }}",
        level="data",
        on_violation="fail",
        retries=2,
        retry_delay=timedelta(minutes=5),
        pool="default_pool",
        max_active_tis_per_dag=1,
    )
