"""A gate: whoever reads a table does so only if its protocol holds.

The audit changes nothing. Where a rule is broken it fails without a retry, and what comes after it does not
run: better no numbers than wrong ones. What it found is in its log, and in XCom under ``findings``.
"""

from __future__ import annotations

from typing import Any

from airflow.sdk import DAG, Param, task

from airflow_delta_provider.operators.audit_protocol import DeltaAuditProtocolOperator

with DAG(
    dag_id="audit_before_reading",
    schedule=None,
    max_active_runs=1,
    tags=["delta", "example"],
    params={"table": Param("/data/lake/orders", type="string", description="Path or URI")},
):
    gate = DeltaAuditProtocolOperator(task_id="audit", table="{{ params.table }}", on_undetermined="warn")

    @task
    def read(summary: dict[str, Any]) -> int:
        """Stand for whatever reads the table; return the version that was judged."""
        return int(summary["tables"][0]["version"])

    read(gate.output)
