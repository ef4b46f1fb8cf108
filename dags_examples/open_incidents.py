"""Incidents: each violation of a table has one in PagerDuty, which ends when the table is sound again.

The owner of the table decides on the service. The notifier is called whether the audit fails or succeeds: a violation
ends in a task that succeeds. Needs apache-airflow-providers-pagerduty, and a connection for each service.
"""

from __future__ import annotations

from datetime import datetime

from airflow.sdk import DAG

from airflow_delta_provider.notifications.incident_targets import PagerDutyIncidents
from airflow_delta_provider.notifications.incidents import DeltaIncidentNotifier
from airflow_delta_provider.operators.audit_protocol import DeltaAuditProtocolOperator

incidents = DeltaIncidentNotifier(
    targets=[PagerDutyIncidents("pagerduty_data_platform", routes={"sales": "pagerduty_sales"})],
    state_path="{{ params.state }}/{{ dag.dag_id }}.{{ task.task_id }}.json",
)

with DAG(
    dag_id="open_incidents",
    schedule="@daily",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    tags=["delta", "example"],
    params={"table": "/data/lake/orders", "state": "/data/lake/ops/incidents"},
):
    DeltaAuditProtocolOperator(
        task_id="audit",
        engine="python",
        tables=[{"table": "{{ params.table }}", "owner": "sales"}],
        on_failure_callback=incidents,
        on_success_callback=incidents,
    )
