"""Wait until somebody else has enabled a feature, then do what needs it.

While it waits the task is deferred: it holds no worker and starts no Spark. The trigger reads the new
commits in the table's log, through Airflow's object storage.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG, Param

from airflow_delta_provider.operators.widen_types import DeltaWidenTypesOperator
from airflow_delta_provider.sensors.feature import DeltaFeatureSensor

with DAG(
    dag_id="wait_for_feature",
    schedule=None,
    tags=["delta", "example"],
    params={
        "table": Param("/data/lake/orders", type="string", description="A path or a URI"),
        "columns": Param({"quantity": "bigint"}, type="object", description="The new type of each column"),
    },
):
    wait = DeltaFeatureSensor(
        task_id="wait_for_type_widening",
        table="{{ params.table }}",
        features=["typeWidening"],
        state="enabled",
        poke_interval=10,
        timeout=timedelta(hours=12).total_seconds(),
    )
    widen = DeltaWidenTypesOperator(
        task_id="widen_columns",
        table="{{ params.table }}",
        columns="{{ params.columns }}",
    )
    wait >> widen
