"""Make the tables of a lake what the specs in ``migrations/`` declare, with somebody's approval.

Each table has a group of tasks: plan, approve, apply, verify. Tables are migrated two at a time, in the order that
``after`` in their specs asks for. After a failure or a rejection, no further table is started. A plan that only adds
columns and comments, and locks nobody out, needs no approval (``migrations_policy.yaml``). Any other plan is shown in
Airflow, where it waits twelve hours for an answer.

For a table that already is what its spec declares, nobody is asked and Spark is not started. So the DAG can run every
night and migrate what has changed in ``migrations/``. If a task fails halfway, its retry continues where it stopped.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from airflow.sdk import DAG

from airflow_delta_provider.migration import delta_migrations

with DAG(
    dag_id="migrate_lake",
    schedule=None,  # for every night: "0 2 * * *"
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 2},
    tags=["delta", "example"],
):
    delta_migrations(
        "migrations/",
        at_once=2,
        policy="migrations_policy.yaml",
        allow_protocol_upgrade=True,
        allow_rewrite=True,
        approval_timeout=timedelta(hours=12),
    )
