"""Enable and widen on a Spark standalone cluster."""

from __future__ import annotations

from airflow.sdk import DAG, Param

from airflow_delta_provider.operators.widen_types import DeltaWidenTypesOperator

with DAG(dag_id="on_a_cluster", schedule=None, params={"table": Param("", type="string")}):
    DeltaWidenTypesOperator(
        task_id="widen",
        conn_id="spark_cluster",
        table="{{ params.table }}",
        columns={"quantity": "bigint", "lines.element.price": "decimal(12,2)"},
        enable_type_widening=True,
        allow_protocol_upgrade=True,
        delta_jars="packages",
        executor_memory="512m",
        conf={"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.sql.shuffle.partitions": "2"},
    )
