"""An audit that records its findings and keeps incidents; its first try is killed after it has recorded them."""

from __future__ import annotations

import os
import signal
from typing import Any

import pagerduty
from airflow.sdk import DAG, Param

from airflow_delta_provider.notifications.incident_targets import PagerDutyIncidents
from airflow_delta_provider.notifications.incidents import DeltaIncidentNotifier
from airflow_delta_provider.operators.audit_protocol import DeltaAuditProtocolOperator

# The client insists on https.
pagerduty.EventsApiV2Client.url = property(lambda _: os.environ["PAGERDUTY"], lambda *_: None)


class KilledOnce(DeltaAuditProtocolOperator):
    """Dies between the end of its job and its own."""

    def _submit(self, context: Any, request: Any) -> Any:
        report = super()._submit(context, request)
        if context["ti"].try_number == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return report


def note(context: Any) -> None:
    """Note that the incidents of a try are done."""
    with open(f"{context['params']['lake']}/notified", "a", encoding="utf-8") as file:
        print(context["ti"].try_number, file=file)


incidents = DeltaIncidentNotifier(
    targets=[PagerDutyIncidents("pd", routes={"sales": "pd_sales"})], state_path="{{ params.lake }}/incidents.json"
)

with DAG("recorded_audit", schedule=None, params={"lake": Param("", type="string")}):
    KilledOnce(
        task_id="audit",
        tables=[{"table": "{{ params.lake }}/orders", "owner": "sales"}],
        engine="python",
        findings_table="{{ params.lake }}/findings",
        retries=1,
        retry_delay=1,
        on_failure_callback=[incidents, note],
        on_success_callback=[incidents, note],
    )
