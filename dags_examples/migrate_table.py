"""Make a table what its spec declares: plan, ask somebody, apply, verify.

What would be done, and which engines it would lock out, is shown to those who approve. Where there is nothing to do, or
the policy lets the plan pass, nobody is asked. It may run at any time: what is done already is left alone.
"""

from __future__ import annotations

from airflow.sdk import DAG, Param

from airflow_delta_provider.migration import delta_migration

with DAG(
    dag_id="migrate_table",
    schedule=None,
    tags=["delta", "example"],
    params={
        "table": Param("/data/lake/flights", type="string", description="A path, a URI or a catalog name"),
        "spec": Param("flights", type="string", description="Name of the spec, a file in the folder specs"),
    },
):
    delta_migration(
        table="{{ params.table }}",
        spec="specs/{{ params.spec }}.yaml",
        policy="migrations_policy.yaml",
        fleet="fleet.yaml",
        allow_protocol_upgrade=True,
    )
