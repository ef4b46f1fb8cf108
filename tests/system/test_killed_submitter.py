"""A process that submitted a job and is killed outright: it cannot end what it started."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_delta_provider.domain.request.change_options import AlterColumnsOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from demo.airflow_home import AirflowHome
from tests.system.process_tree import ProcessTree, names_of, running, wait_for, with_descendants
from tests.tables import log

pytestmark = pytest.mark.nightly

COLUMNS = 60


def test_driver_stops_changing_the_table_once_its_submitter_is_killed(
    spark: SparkSession, airflow: AirflowHome, tmp_path: Path
) -> None:
    table = tmp_path / "wide"
    columns = ", ".join(f"c{number} int" for number in range(COLUMNS))
    spark.sql(
        f"CREATE TABLE delta.`{table}` ({columns}) USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    )
    rename = {f"c{number}": f"renamed_{number}" for number in range(COLUMNS)}
    (tmp_path / "request.json").write_text(
        json.dumps(JobRequest((str(table),), AlterColumnsOptions(rename=rename)).to_json())
    )
    with open(tmp_path / "log", "wb") as output:
        submitter = subprocess.Popen(
            [sys.executable, "-m", "tests.system.submission", str(tmp_path / "request.json")],
            env=airflow.environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    tree = ProcessTree(submitter.pid)
    try:
        wait_for(lambda: log.newest(table) >= 3, "the third rename", every=0.05)
        job = with_descendants(tree.below("SparkSubmit", "delta_provider_job"))
        assert {"java", "python"} <= {name.rstrip("0123456789.") for name in names_of(job)}
        submitter.send_signal(signal.SIGKILL)
        submitter.wait()
        left = log.newest(table)
        wait_for(lambda: not running(job), "the end of the driver", 30, every=0.1)
    finally:
        tree.end()
    # The rename that was under way, and one whose look at the submitter was just before.
    assert left <= log.newest(table) <= left + 2 < COLUMNS
