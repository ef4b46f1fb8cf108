"""A task that runs into its ``execution_timeout``."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from demo.airflow_home import AirflowHome
from tests.system.orders_table import changed, copies_of, is_enabled, orders
from tests.system.process_tree import ProcessTree, running, wait_for, with_descendants


def test_timeout_ends_the_whole_process_tree_of_the_job(
    spark: SparkSession, airflow: AirflowHome, tmp_path: Path
) -> None:
    tables = copies_of(orders(spark, tmp_path / "orders"), 200)
    with airflow.running("job_with_timeout", tables=[str(table) for table in tables]) as process:
        tree = ProcessTree(process.pid)
        try:
            wait_for(lambda: changed(tables), "the first table changed", 90)
            job = with_descendants(tree.below("SparkSubmit", "delta_provider_job"))
            names = {part.name() for part in job}
            outcome = process.tasks()["enable"]
        finally:
            tree.end()
    assert outcome.state == "failed"
    assert "AirflowTaskTimeout" in process.log.read_text(encoding="utf-8")
    assert {"java", "python"} <= {name.rstrip("0123456789.") for name in names}
    assert running(job) == []
    assert 0 < len(changed(tables)) < len(tables)
    assert [table for table in changed(tables) if not is_enabled(table)] == []
