"""A driver of its own, which changes tables when it is told to: ``python -m tests.stores.writer NAME``.

It prints a line when it is ready. For each line of its input, a folder and a number, it does a job, again and again as
Airflow repeats a task, and prints what each try ended with.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from airflow_delta_provider.domain.report.report import TableReport
from airflow_delta_provider.domain.request.change_options import (
    AlterColumnsOptions,
    ChangeOptions,
    EnableFeatureOptions,
)
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.session import own_session

#: A try is lost to another writer's commit, of which there are few.
_TRIES = 5


def change(writer: str, number: int, *, unsafe: bool) -> tuple[str, ChangeOptions]:
    """Return the table and the change of a turn: a commit of the engine's, or, in every third turn, one of ours.

    :param unsafe: whether to say that no other process writes
    """
    if number % 3 != 2:
        return "altered", AlterColumnsOptions(add={f"{writer}_{number}": "int"}, allow_unsafe_log_store=unsafe)
    return f"tracked_{number}", EnableFeatureOptions(
        features=("columnMappingUsageTracking",),
        allow_special=True,
        allow_protocol_upgrade=True,
        acknowledge_writer_lockout=True,
        allow_unsafe_log_store=unsafe,
    )


def tries(session: SparkDeltaSession, writer: str, lake: str, number: int, *, unsafe: bool) -> list[dict[str, Any]]:
    """Do the job of a turn until it is done, and return what each try ended with."""
    table, options = change(writer, number, unsafe=unsafe)
    request = JobRequest((f"{lake}/{table}",), options, labels={"writer": writer, "turn": number})
    ends: list[TableReport] = []
    while len(ends) < _TRIES and (not ends or ends[-1].retryable):
        ends.extend(run(request, session).tables)
    return [
        {
            "table": table,
            "verdict": end.verdict.value,
            "changed": end.changed,
            "version": end.version,
            "codes": [finding.code for finding in end.findings],
            "said": [finding.message for finding in end.findings],
        }
        for end in ends
    ]


def main(writer: str) -> None:
    """Do what the input says."""
    session = SparkDeltaSession(own_session("writer", "local[1]"))
    session.sql("SELECT 1")
    print("ready", flush=True)
    for line in sys.stdin:
        lake, number = json.loads(line)
        print(json.dumps(tries(session, writer, lake, number, unsafe=False)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
