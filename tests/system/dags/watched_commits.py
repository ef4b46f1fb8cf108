"""An audit of each commit that writes down what it audited and told; and a sensor that waits for a version."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, Asset, AssetWatcher, Param, task

from airflow_delta_provider.notifications.violation import DeltaViolationNotifier
from airflow_delta_provider.operators.audit_protocol import DeltaAuditProtocolOperator
from airflow_delta_provider.sensors.table_version import DeltaTableVersionSensor
from airflow_delta_provider.triggers.table_event import DeltaTableEventTrigger

TABLE = f"{os.environ.get('WATCHED_TABLE', '/nowhere')}-while-killed"
RECORD = Path(f"{TABLE}.jsonl")
COMMITS = Asset(
    name="watched commits",
    uri=f"file://{TABLE}",
    watchers=[AssetWatcher(name="commits", trigger=DeltaTableEventTrigger(TABLE, on="commit", poke_interval=1))],
)
VIOLATIONS = Asset(
    name="watched violations",
    uri=f"file://{TABLE}/violations",
    watchers=[AssetWatcher(name="violations", trigger=DeltaTableEventTrigger(TABLE, on="violation", poke_interval=1))],
)


def record(**line: Any) -> None:
    """Write down what happened, for the test."""
    with RECORD.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def tell(context: Any) -> None:
    """Tell people."""
    record(told=[[f["news"], f["code"], f["version"]] for f in context["delta"].findings])


class RecordedAudit(DeltaAuditProtocolOperator):
    """Writes down which commits it audited."""

    def _submit(self, context: Any, request: Any) -> Any:
        report = super()._submit(context, request)
        (table,) = report.tables
        record(audited=[table.evidence["first_version"], table.evidence["commits"], table.version])
        return report


with DAG("watched_commits", schedule=[COMMITS], max_active_runs=1):
    alert = DeltaViolationNotifier(notifiers=[tell], max_findings=1000)
    RecordedAudit(
        task_id="audit",
        table=TABLE,
        engine="python",
        state_path=f"{TABLE}-state",
        on_violation="warn",
        on_success_callback=alert,
        on_failure_callback=alert,
    )

with DAG("watched_violations", schedule=[VIOLATIONS], max_active_runs=1):

    @task
    def note(triggering_asset_events: Any = None) -> None:
        """Write down what commits broke."""
        for event in triggering_asset_events[VIOLATIONS]:
            payload = event.extra["payload"]
            broken = [[finding["code"], finding["version"]] for finding in payload["findings"]]
            record(broken=broken, range=[payload["from_version"], payload["to_version"]])

    note()

with DAG("wait_for_version", schedule=None, params={"version": Param(0, type="integer")}):
    DeltaTableVersionSensor(task_id="wait", table=TABLE, version="{{ params.version }}", poke_interval=2, timeout=1200)
