"""Jobs that take longer than a test waits: one has to be ended by somebody, one ends itself."""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG, Param

from airflow_delta_provider.operators.enable_feature import DeltaEnableFeatureOperator

for dag_id, timeout in (("long_job", None), ("job_with_timeout", timedelta(seconds=20))):
    with DAG(dag_id=dag_id, schedule=None, params={"tables": Param([], type="array")}):
        DeltaEnableFeatureOperator(
            task_id="enable",
            tables="{{ params.tables }}",
            features=["typeWidening"],
            allow_protocol_upgrade=True,
            execution_timeout=timeout,
        )
