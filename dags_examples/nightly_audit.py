"""Every night, audit all tables of a schema by every rule of the protocol, and tell people what is new.

``tables`` names them by a pattern: ``sales.*`` for the Delta tables of a catalog schema, or ``/data/lake/sales/*`` for
those of a folder. Each night looks them up anew, so tables that were added are audited, too.

The first night judges the whole history of each table; ``state_path`` remembers how far that came, so that
the later ones judge new commits only, and tell findings that are new from those that are known. A table
that nobody wrote to costs one listing of its log.

The task succeeds in spite of violations (``on_violation="warn"``): the alert is what tells of them, once, and
again when they are resolved. In place of ``tell`` use the notifiers that you have (docs/guides/alerts.md). Findings
that somebody accepts are in a file beside this one, as ``waivers="waivers.yaml"``.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from airflow.sdk import DAG, Param

from airflow_delta_provider.notifications.violation import DeltaViolationNotifier
from airflow_delta_provider.operators.audit_protocol import DeltaAuditProtocolOperator


def tell(context: Any) -> None:
    """Write the alert into the log of the callback."""
    print(context["delta"].text)


with DAG(
    dag_id="nightly_audit",
    schedule=None,  # for every night: "0 3 * * *"
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    tags=["delta", "example"],
    params={
        "tables": Param(["/data/lake/sales/*"], type="array", description="Patterns of paths, or schema.*"),
        "state_path": Param("/data/audits", type="string", description="Where audits remember"),
    },
):
    alert = DeltaViolationNotifier(notifiers=[tell])
    DeltaAuditProtocolOperator(
        task_id="audit",
        tables="{{ params.tables }}",
        state_path="{{ params.state_path }}",
        seconds_per_table=600,
        on_violation="warn",
        on_failure_callback=alert,
        on_success_callback=alert,
        retries=2,
        retry_delay=timedelta(minutes=5),
        max_active_tis_per_dag=1,
    )
