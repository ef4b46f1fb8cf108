"""A migration that kills itself, as the machine would: ``python -m tests.spark.killed_migration TABLE POINT``.

Prints the number of points that it passed, if it was not killed: before each step, before each commit of a transaction
of ours, and after each step.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

from pyspark import SparkContext

from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.migration_options import ApplyMigrationOptions
from airflow_delta_provider.jobs.changes.engine_transaction import EngineTransaction
from airflow_delta_provider.jobs.changes.table_change import TableChange
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.session import own_session
from tests.tables.migrating import DECLARED


class Points:
    """Counts the points of a run, and kills it at one of them, JVM first."""

    def __init__(self, fatal: int) -> None:
        self.passed = 0
        self._fatal = fatal

    def reach(self) -> None:
        if self.passed == self._fatal:
            gateway: Any = SparkContext._gateway
            os.kill(gateway.proc.pid, signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)
        self.passed += 1


def main(table: str, fatal: int) -> None:
    points = Points(fatal)
    execute, commit = TableChange._execute, EngineTransaction._commit

    def executed(*arguments: Any) -> Any:
        points.reach()
        done = execute(*arguments)
        points.reach()
        return done

    def committed(*arguments: Any) -> int:
        points.reach()
        return commit(*arguments)

    TableChange._execute = executed  # type: ignore[method-assign]  # a stand-in
    EngineTransaction._commit = committed  # type: ignore[method-assign]  # a stand-in
    options = ApplyMigrationOptions(spec=(DECLARED,), allow_protocol_upgrade=True, allow_rewrite=True)
    report = run(JobRequest((table,), options), SparkDeltaSession(own_session("killed", "local[2]")))
    (found,) = report.tables
    print(json.dumps({"points": points.passed, "verdict": found.verdict.value, "changed": found.changed}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
