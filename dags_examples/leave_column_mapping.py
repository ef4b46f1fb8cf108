"""Find the tables that have column mapping and never used it, and take it away without rewriting data.

Engines that do not know column mapping can read such a table's files again as they lie there. The first task changes
nothing: it derives from the history of each table, and from the footers of its files where the history is not kept
whole, whether a column was ever renamed or dropped. The last one proves again that it is safe, on the version that its
commit follows; a table of which that cannot be proven is refused, with the reason, and stays as it is.
"""

from __future__ import annotations

from typing import Any

from airflow.sdk import DAG, Param, task

from airflow_delta_provider.operators.column_mapping_usage import DeltaColumnMappingUsageOperator
from airflow_delta_provider.operators.disable_column_mapping import DeltaDisableColumnMappingOperator

with DAG(
    dag_id="leave_column_mapping",
    schedule=None,
    tags=["delta", "example"],
    params={
        "tables": Param(["/data/lake/orders", "/data/lake/returns"], type="array", description="Paths or URIs"),
    },
):
    usage = DeltaColumnMappingUsageOperator(task_id="usage", tables="{{ params.tables }}", on_undetermined="ignore")

    @task.short_circuit
    def unused_tables(report: dict[str, Any]) -> list[str]:
        """Return the tables of which no column was ever renamed or dropped; without any, all is done."""
        return [row["table"] for row in report["tables"] if row.get("usage") == "UNUSED"]

    DeltaDisableColumnMappingOperator(
        task_id="disable_column_mapping",
        tables=unused_tables(usage.output),
        strategy="metadata-only",
    )
