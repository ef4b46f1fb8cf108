"""Repair a damaged table: plan, ask somebody, apply the approved plan, audit again.

The plan says which findings each step fixes, which information it loses, and what stays open with the reason. A step
that loses information needs the permission of its finding: the notes of the plan list all fingerprints that are needed,
and the next run gets them as ``permit``. If there is nothing to repair, nobody is asked.
"""

from __future__ import annotations

from airflow.sdk import DAG, Param

from airflow_delta_provider.repair import delta_repair

with DAG(
    dag_id="repair_table",
    schedule=None,
    max_active_runs=1,
    tags=["delta", "example"],
    params={
        "table": Param("/data/lake/orders", type="string", description="A path or a URI"),
        "permit": Param([], type="array", description="Fingerprints of findings whose repair may lose information"),
    },
):
    delta_repair(table="{{ params.table }}", permit="{{ params.permit }}", approval={"subject": "Apply the repair?"})
