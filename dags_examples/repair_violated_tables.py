"""Check many tables in one job, then repair those that break a rule, one mapped task a table.

The first task changes nothing and reads the tables' logs only. Where row tracking is enabled, every live
data file must have its row ids, else the table is ``VIOLATED`` (RT05). A writer that does not know row
tracking, or a log that was edited, leaves files without. A table without row tracking is
``UNDETERMINED``: it is left alone.

The repair takes the property away and enables row tracking anew, which gives ids to the files that have
none. Files that have theirs keep them. It mends nothing else: of tables with other findings, such as ids
that two rows share, people have to decide.
"""

from __future__ import annotations

from typing import Any

from airflow.sdk import DAG, Param, task

from airflow_delta_provider.operators.check_row_tracking import DeltaCheckRowTrackingOperator
from airflow_delta_provider.operators.enable_feature import DeltaEnableFeatureOperator
from airflow_delta_provider.xcom import all_findings

with DAG(
    dag_id="repair_violated_tables",
    schedule=None,
    max_active_runs=1,
    tags=["delta", "example"],
    params={
        "tables": Param(["/data/lake/orders", "/data/lake/returns"], type="array", description="Paths or URIs"),
    },
):
    audit = DeltaCheckRowTrackingOperator(
        task_id="audit",
        tables="{{ params.tables }}",
        level="log",
        on_violation="warn",
    )

    @task
    def without_row_ids(found: dict[str, Any]) -> list[str]:
        """Return the tables to repair; findings that do not fit into XCom are read from the kept report."""
        return sorted({finding["table"] for finding in all_findings(found) if finding["code"] == "RT05"})

    broken = without_row_ids(audit.output["findings"])

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
