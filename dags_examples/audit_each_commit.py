"""Audit a table within seconds of each commit, and tell people what is new.

A trigger watches the table's log in the triggerer; a commit runs this DAG. The audit reads the log itself
(``engine="python"``): no Spark starts. ``state_path`` remembers how far the last audit came, so that each commit is
audited once, and the alert tells a finding once, also if an event is delivered twice.
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, Asset, AssetWatcher

from airflow_delta_provider.assets import table_asset
from airflow_delta_provider.notifications.violation import DeltaViolationNotifier
from airflow_delta_provider.operators.audit_protocol import DeltaAuditProtocolOperator
from airflow_delta_provider.triggers.table_event import DeltaTableEventTrigger

TABLE = os.environ.get("WATCHED_TABLE", "/data/lake/orders")
ORDERS = Asset(
    uri=table_asset(TABLE).uri,
    watchers=[
        AssetWatcher(name="orders_commits", trigger=DeltaTableEventTrigger(TABLE, on="commit", poke_interval=10))
    ],
)


def tell(context: Any) -> None:
    """Write the alert into the log of the callback; in its place use the notifiers that you have."""
    print(context["delta"].text)


with DAG(dag_id="audit_each_commit", schedule=[ORDERS], max_active_runs=1, tags=["delta", "example"]):
    alert = DeltaViolationNotifier(notifiers=[tell])
    DeltaAuditProtocolOperator(
        task_id="audit",
        table=TABLE,
        engine="python",
        state_path=os.environ.get("AUDIT_STATE", "/data/audits"),
        on_violation="warn",
        on_failure_callback=alert,
        on_success_callback=alert,
        retries=2,
        retry_delay=timedelta(seconds=30),
    )
