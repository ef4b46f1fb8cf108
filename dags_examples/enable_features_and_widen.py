"""Enable type widening and row tracking on a table, then widen four of its columns in one commit.

Both tasks may run again at any time: what is done already is left alone, and nothing is committed.
"""

from __future__ import annotations

from airflow.sdk import DAG, Param

from airflow_delta_provider.operators.enable_feature import DeltaEnableFeatureOperator
from airflow_delta_provider.operators.widen_types import DeltaWidenTypesOperator

with DAG(
    dag_id="enable_features_and_widen",
    schedule=None,
    tags=["delta", "example"],
    params={
        "table": Param("/data/lake/flights", type="string", description="A path, a URI or a catalog name"),
        "columns": Param(
            {
                "carrier_flights": "int",
                "station.flights": "int",
                "counters.value": "int",
                "totals.element.amount": "decimal(9,0)",
            },
            type="object",
            description="The new type of each column; nested ones by their path",
        ),
    },
):
    enable = DeltaEnableFeatureOperator(
        task_id="enable_features",
        table="{{ params.table }}",
        features=["typeWidening", "rowTracking"],
        allow_protocol_upgrade=True,
    )
    widen = DeltaWidenTypesOperator(
        task_id="widen_columns",
        table="{{ params.table }}",
        columns="{{ params.columns }}",
    )
    enable >> widen
