"""A job on two tables with one retry."""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG, Param

from airflow_delta_provider.operators.enable_feature import DeltaEnableFeatureOperator

with DAG("job_that_retries", schedule=None, params={"tables": Param([], type="array")}):
    DeltaEnableFeatureOperator(
        task_id="enable",
        tables="{{ params.tables }}",
        features=["appendOnly"],
        allow_protocol_upgrade=True,
        retries=1,
        retry_delay=timedelta(seconds=1),
    )
