"""What works in a DAG, and mypy takes: templates and XComs in templated arguments, outputs as arguments of tasks."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, AssetAlias, task

from airflow_delta_provider.operators.alter_columns import DeltaAlterColumnsOperator
from airflow_delta_provider.operators.arguments import Template
from airflow_delta_provider.operators.audit_protocol import DeltaAuditProtocolOperator
from airflow_delta_provider.operators.check_row_tracking import DeltaCheckRowTrackingOperator
from airflow_delta_provider.operators.enable_feature import DeltaEnableFeatureOperator
from airflow_delta_provider.operators.widen_types import DeltaWidenTypesOperator
from airflow_delta_provider.sensors.feature import DeltaFeatureSensor
from airflow_delta_provider.sensors.row_tracking import DeltaRowTrackingSensor
from airflow_delta_provider.xcom import violated_tables

with DAG("right") as dag:

    @task
    def tables() -> list[str]:
        """Return tables."""
        return ["/t"]

    @task
    def judge(summary: dict[str, Any]) -> None:
        """Take a summary."""

    found = tables()
    audit = DeltaAuditProtocolOperator(
        task_id="a",
        tables=found,
        level=Template("{{ params.level }}"),
        fail_on="warning",
        since_version="{{ params.since }}",
        retries=2,
        retry_delay=timedelta(minutes=1),
        pool="p",
        outlets=[AssetAlias("violations")],
        conn_id="spark",
        conf={"spark.x": "1"},
        driver_memory="2g",
        on_violation="warn",
    )
    judge(audit.output)
    judge(audit.output["findings"])
    broken = task(violated_tables)(audit.output)
    DeltaEnableFeatureOperator.partial(task_id="b", features=["rowTracking"], retries=1).expand(table=broken)
    DeltaEnableFeatureOperator(task_id="c", tables=found, features="{{ params.features }}", dry_run="{{ params.dry }}")
    DeltaWidenTypesOperator(task_id="d", table="{{ params.table }}", columns="{{ params.columns }}", verify="log")
    DeltaAlterColumnsOperator(task_id="e", table="/t", drop=found, rename={"a": "b"}, delta_jars=["/x.jar"])
    DeltaCheckRowTrackingOperator(task_id="f", tables=audit.output["tables"], compare_to_version=3, key_columns=["id"])
    DeltaRowTrackingSensor(task_id="h", table=audit.output["x"], level="footers", conn_id="spark", conf={"a": "b"})
    DeltaFeatureSensor(task_id="g", table=audit.output["x"], features=found, state="enabled", timeout=60, mode="poke")
