"""Look at many tables in one job, then repair those that break a rule, one mapped task a table.

The first task changes nothing. It asks whether row tracking is in order: where it is enabled, every
live data file must have its row ids, else the table is ``VIOLATED``. A writer that does not know row
tracking, or a log that was edited, leaves files without.

The repair takes the property away and enables row tracking anew, which gives ids to the files that have
none. Files that have theirs keep them.
"""

from __future__ import annotations

from typing import Any

from airflow.sdk import DAG, Param, task

from airflow_delta_provider.operators.enable_feature import DeltaEnableFeatureOperator
from airflow_delta_provider.xcom import violated_tables

with DAG(
    dag_id="repair_violated_tables",
    schedule=None,
    max_active_runs=1,
    tags=["delta", "example"],
    params={
        "tables": Param(["/data/lake/orders", "/data/lake/returns"], type="array", description="Paths or URIs"),
    },
):
    look = DeltaEnableFeatureOperator(
        task_id="look",
        tables="{{ params.tables }}",
        features=["rowTracking"],
        allow_protocol_upgrade=True,
        dry_run=True,
        on_violation="warn",
    )

    @task
    def violated(report: dict[str, Any]) -> list[str]:
        """Return the tables to repair."""
        return violated_tables(report)

    broken = violated(look.output)

    disable = DeltaEnableFeatureOperator.partial(
        task_id="disable_row_tracking",
        features=["domainMetadata"],
        properties={"delta.enableRowTracking": "false"},
        max_active_tis_per_dag=1,
    ).expand(table=broken)

    enable = DeltaEnableFeatureOperator.partial(
        task_id="enable_row_tracking",
        features=["rowTracking"],
        max_active_tis_per_dag=1,
    ).expand(table=broken)

    disable >> enable
