"""The audit of a schema, with a catalog that ``conf`` sets up."""

from __future__ import annotations

import json
import os

from airflow.sdk import DAG

from airflow_delta_provider.operators.audit_protocol import DeltaAuditProtocolOperator

with DAG("schema", catchup=False):
    DeltaAuditProtocolOperator(
        task_id="audit", schema="shop", conf=json.loads(os.environ["CATALOG_CONF"]), on_violation="warn"
    )
