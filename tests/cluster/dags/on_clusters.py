"""Jobs whose drivers run on YARN and on Kubernetes."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pyspark
from airflow.sdk import DAG, Param

from airflow_delta_provider.operators.audit_protocol import DeltaAuditProtocolOperator
from airflow_delta_provider.operators.widen_types import DeltaWidenTypesOperator

SMALL = {
    "spark.executor.instances": "1",
    "spark.executor.memory": "512m",
    "spark.ui.enabled": "false",
    "spark.yarn.jars": f"local:{Path(pyspark.__file__).parent}/jars/*",
}

with DAG(dag_id="widen_on_yarn", schedule=None, params={"table": Param("", type="string")}):
    DeltaWidenTypesOperator(
        task_id="widen",
        table="{{ params.table }}",
        columns={"quantity": "bigint"},
        enable_type_widening=True,
        allow_protocol_upgrade=True,
        delta_jars="packages",
        conf=SMALL,
        retries=2,
        retry_delay=timedelta(seconds=1),
    )

with DAG(dag_id="widen_on_kubernetes", schedule=None, params={"table": Param("", type="string")}):
    DeltaWidenTypesOperator(
        task_id="widen",
        conn_id="spark_kubernetes",
        table="{{ params.table }}",
        columns={"quantity": "bigint"},
        enable_type_widening=True,
        allow_protocol_upgrade=True,
        delta_jars="packages",
        result_path=f"{os.environ['UPLOADS']}/results",
        conf={
            **SMALL,
            "spark.kubernetes.file.upload.path": f"file://{os.environ['UPLOADS']}",
            "spark.kubernetes.container.image": "any",
        },
        retries=2,
        retry_delay=timedelta(seconds=1),
    )

with DAG(dag_id="audit_on_yarn", schedule=None, params={"table": Param("", type="string")}):
    DeltaAuditProtocolOperator(task_id="audit", table="{{ params.table }}", conf=SMALL)
