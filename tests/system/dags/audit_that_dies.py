"""An audit that remembers and tells, of which something is killed at a point of its first try."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
from airflow.sdk import DAG, Param

from airflow_delta_provider.notifications.violation import DeltaViolationNotifier
from airflow_delta_provider.operators.audit_protocol import DeltaAuditProtocolOperator


def record(context: Any, **line: Any) -> None:
    """Write down what happened, for the test."""
    with open(context["params"]["record"], "a", encoding="utf-8") as file:
        file.write(json.dumps({"run": context["run_id"], "try": context["ti"].try_number, **line}) + "\n")


def passed(context: Any, point: str) -> None:
    """Die here, if this is where the first try has to."""
    if context["params"]["dies_after"] == point and context["ti"].try_number == 1:
        record(context, died=point)
        os.kill(os.getpid(), signal.SIGKILL)


def tell(context: Any) -> None:
    """Tell people."""
    record(context, told=[[f["news"], f["table"], f["code"]] for f in context["delta"].findings])


def passing(point: str) -> Callable[[Any], None]:
    """Return a callback that may die."""
    return lambda context: passed(context, point)


class MortalAudit(DeltaAuditProtocolOperator):
    """Dies."""

    def _submit(self, context: Any, request: Any) -> Any:
        params = context["params"]
        if params["dies_after"] in ("driver remembered", "worker remembered"):
            watch = threading.Thread(target=self._watch, args=(context, Path(params["state"])), daemon=True)
            watch.start()
        report = super()._submit(context, request)
        passed(context, "received")
        return report

    def _watch(self, context: Any, state: Path) -> None:
        """Kill the driver, or this process, as soon as the memory of a table is written."""
        before = {file: file.stat().st_mtime_ns for file in state.glob("*.json")}
        while {file: file.stat().st_mtime_ns for file in state.glob("*.json")} == before:
            time.sleep(0.001)
        passed(context, "worker remembered")
        if context["params"]["dies_after"] == "driver remembered" and context["ti"].try_number == 1:
            record(context, died="driver remembered")
            for process in psutil.Process().children(recursive=True):
                process.kill()

    def _push(self, context: Any, report: Any) -> Any:
        summary = super()._push(context, report)
        passed(context, "pushed")
        return summary


for policy in ("warn", "fail"):
    alert = DeltaViolationNotifier(notifiers=[tell, passing("told")], max_findings=100)
    callbacks = [alert, passing("confirmed"), lambda context: record(context, over=True)]
    with DAG(
        f"audit_that_dies_{policy}",
        schedule=None,
        params={
            "tables": Param([], type="array"),
            "state": Param("", type="string"),
            "record": Param("", type="string"),
            "dies_after": Param("", type="string"),
        },
    ):
        MortalAudit(
            task_id="audit",
            tables="{{ params.tables }}",
            state_path="{{ params.state }}",
            on_violation=policy,
            delta_jars=os.environ.get("DELTA_JARS"),
            retries=1,
            retry_delay=1,
            do_xcom_push=policy == "fail",
            on_success_callback=callbacks,
            on_failure_callback=callbacks,
        )
