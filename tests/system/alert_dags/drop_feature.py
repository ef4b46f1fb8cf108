"""A task that waits, deferred, between the two runs of a drop."""

from __future__ import annotations

from airflow.sdk import DAG

from airflow_delta_provider.operators.drop_feature import DeltaDropFeatureOperator

with DAG("drop_feature", schedule=None):
    DeltaDropFeatureOperator(
        task_id="drop",
        tables=["/lake/orders", "/lake/returns"],
        features=["typeWidening"],
        truncate_history=True,
        acknowledge_history_loss=True,
        delta_jars="provided",
    )
