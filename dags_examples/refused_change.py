"""Ask for a change that Delta forbids, and react to the refusal.

One of the two columns could be widened and the other must not be narrowed, so neither is touched.
The findings are pushed to XCom before the task fails: the task after it reads there what is wrong,
to tell the people who own the table.
"""

from __future__ import annotations

import logging
from typing import Any

from airflow.sdk import DAG, Param, task

from airflow_delta_provider.operators.widen_types import DeltaWidenTypesOperator

with DAG(
    dag_id="refused_change",
    schedule=None,
    tags=["delta", "example"],
    params={
        "table": Param("/data/lake/flights", type="string", description="A path, a URI or a catalog name"),
        "columns": Param(
            {"distance": "int", "carrier_flights": "smallint"},
            type="object",
            description="Types asked for: the second one is narrower than what the column has",
        ),
    },
):
    change = DeltaWidenTypesOperator(
        task_id="change_types",
        table="{{ params.table }}",
        columns="{{ params.columns }}",
        on_violation="fail",
    )

    @task(trigger_rule="one_failed")
    def tell_the_owners(ti: Any = None) -> list[str]:
        """Return one sentence a finding; a mail or a ticket would be written here."""
        found = ti.xcom_pull(task_ids="change_types", key="findings") or {"findings": []}
        sentences = [f"{finding['code']}: {finding['message']}" for finding in found["findings"]]
        for sentence in sentences:
            logging.getLogger(__name__).warning("Refused: %s", sentence)
        return sentences

    change >> tell_the_owners()
