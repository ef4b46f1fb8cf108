"""Widen the same columns of many tables, one mapped task a table.

Two changes must never meet on one table. Within this DAG that holds by itself: a table is named once,
and ``max_active_runs=1`` keeps two runs apart. ``max_active_tis_per_dag`` bounds how many tables are
changed at a time, and a ``pool`` that the tasks of all such DAGs share does the same across DAGs.
"""

from __future__ import annotations

from typing import Any

from airflow.sdk import DAG, Param, task

from airflow_delta_provider.operators.widen_types import DeltaWidenTypesOperator

with DAG(
    dag_id="widen_many_tables",
    schedule=None,
    max_active_runs=1,
    tags=["delta", "example"],
    params={
        "tables": Param(["/data/lake/orders", "/data/lake/returns"], type="array", description="Paths or URIs"),
        "columns": Param({"quantity": "bigint"}, type="object", description="The new type of each column"),
    },
):

    @task
    def tables(params: dict[str, Any] | None = None) -> list[str]:
        """Return the tables, each once; a real one might ask a catalog."""
        return sorted(set((params or {})["tables"]))

    DeltaWidenTypesOperator.partial(
        task_id="widen",
        columns="{{ params.columns }}",
        enable_type_widening=True,
        allow_protocol_upgrade=True,
        pool="default_pool",
        max_active_tis_per_dag=2,
        map_index_template="{{ task.table }}",
    ).expand(table=tables())
