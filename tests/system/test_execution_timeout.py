"""A task that runs into its ``execution_timeout``."""

from __future__ import annotations

import time
from pathlib import Path

import psutil
from pyspark.sql import SparkSession

from demo.airflow_home import DagRunner
from tests.system.orders_table import changed, copies_of, is_enabled, orders
from tests.system.process_tree import ProcessTree, names_of, running, with_descendants


def test_timeout_ends_the_whole_process_tree_of_the_job(spark: SparkSession, runner: DagRunner, tmp_path: Path) -> None:
    tables = copies_of(orders(spark, tmp_path / "orders"), 500)
    job: set[psutil.Process] = set()
    names: set[str] = set()
    tree = ProcessTree(runner.pid)
    run = runner.start("job_with_timeout", tables=[str(table) for table in tables])
    while run.running:
        seen = with_descendants(tree.below("SparkSubmit", "delta_provider_job"))
        names |= names_of(running(seen))
        job |= set(seen)
        time.sleep(0.2)
    assert run.tasks()["enable"].state == "failed"
    assert "AirflowTaskTimeout" in run.log
    assert "java" in names
    assert running(list(job)) == []
    assert len(changed(tables)) < len(tables)
    assert [table for table in changed(tables) if not is_enabled(table)] == []
