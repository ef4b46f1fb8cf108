"""A task that checks tables, with a mail for what it finds and an asset event for what changed."""

from __future__ import annotations

import os

from airflow.providers.smtp.notifications.smtp import SmtpNotifier
from airflow.sdk import DAG, AssetAlias, task

from airflow_delta_provider.notifications.violation import DeltaViolationNotifier
from airflow_delta_provider.operators.audit_protocol import DeltaAuditProtocolOperator
from airflow_delta_provider.operators.check_row_tracking import DeltaCheckRowTrackingOperator

MAIL = SmtpNotifier(
    to="owners@example.com",
    from_email="airflow@example.com",
    subject="{{ delta.subject }}",
    html_content="{{ delta.html }}",
)


def check(**arguments: object) -> DeltaCheckRowTrackingOperator:
    return DeltaCheckRowTrackingOperator(
        tables=["/lake/orders", "/lake/returns"],
        delta_jars="provided",
        **arguments,  # type: ignore[arg-type]  # of any type
    )


for dag_id, policy in (("alerts", "fail"), ("events", "warn")):
    with DAG(dag_id, schedule=None):
        alert = DeltaViolationNotifier(
            notifiers=[MAIL], state_path=f"{os.environ['ALERT_STATE']}/{{{{ dag.dag_id }}}}.json"
        )
        check(
            task_id="check",
            on_violation=policy,
            on_failure_callback=alert,
            on_success_callback=alert,
            outlets=[AssetAlias(f"{dag_id}_delta_tables")],
        )

with DAG("mapped_alerts", schedule=None):
    alert = DeltaViolationNotifier(notifiers=[MAIL])
    DeltaCheckRowTrackingOperator.partial(
        task_id="check", delta_jars="provided", on_failure_callback=alert, on_success_callback=alert
    ).expand(table=["/lake/orders", "/lake/returns"])

for dag_id, policy in (("audit_that_fails", "fail"), ("audit_that_warns", "warn")):
    with DAG(dag_id, schedule=None):
        alert = DeltaViolationNotifier(notifiers=[MAIL])
        DeltaAuditProtocolOperator(
            task_id="audit",
            table="/lake/orders",
            state_path="/lake/audits",
            delta_jars="provided",
            on_violation=policy,
            do_xcom_push=False,
            on_failure_callback=alert,
            on_success_callback=alert,
        )

with DAG("broken_task", schedule=None):

    @task(on_failure_callback=DeltaViolationNotifier(notifiers=[MAIL]))
    def crash() -> None:
        raise MemoryError("<all of it>")

    crash()
