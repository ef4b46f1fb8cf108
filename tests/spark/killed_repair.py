"""A repair that kills itself, as the machine would: ``python -m tests.spark.killed_repair TABLE PLAN POINT``.

Points are before and after each write to the storage, and before and after the commit.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.migration_options import ApplyRepairOptions
from airflow_delta_provider.jobs.changes.commit import LogStore
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.hadoop_storage import HadoopStorage
from airflow_delta_provider.jobs.spark.session import own_session
from tests.spark.killed_migration import Points


def main(table: str, plan: str, fatal: int) -> None:
    points = Points(fatal)

    def guarded(method: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any) -> Any:
            points.reach()
            done = method(*arguments)
            points.reach()
            return done

        return called

    for owner, name in ((HadoopStorage, "write"), (HadoopStorage, "delete"), (LogStore, "put")):
        setattr(owner, name, guarded(getattr(owner, name)))
    options = ApplyRepairOptions(plan=(json.loads(Path(plan).read_text()),))
    run(JobRequest((table,), options), SparkDeltaSession(own_session("killed", "local[2]")))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
