"""Check whether a table still is what its spec declares; if not, name the commits that changed it.

Reads the log only, and changes nothing.
"""

from __future__ import annotations

from airflow.sdk import DAG, Param

from airflow_delta_provider.operators.check_drift import DeltaCheckDriftOperator

with DAG(
    dag_id="check_drift",
    schedule=None,
    tags=["delta", "example"],
    params={
        "table": Param("/data/lake/flights", type="string", description="A path, a URI or a catalog name"),
        "spec": Param("flights", type="string", description="Name of the spec, a file in the folder specs"),
    },
):
    DeltaCheckDriftOperator(
        task_id="check_drift",
        table="{{ params.table }}",
        spec="specs/{{ params.spec }}.yaml",
        engine="python",
    )
