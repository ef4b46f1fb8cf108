"""One column widened as an Airflow task: our operator against a plain SparkSubmitOperator.

Both on ``local[2]`` with a warm Ivy cache and the same Delta; the plain one with the configuration
that Delta's documentation gives. Ours also checks beforehand, reads the log again and compares the
data. It runs as on a worker whose image was warmed up, and without. Prints wall and CPU seconds of
each task, median of interleaved runs, and the ratios to the plain one.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

DAG_FILE = """
import os

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import DAG

from airflow_delta_provider.operators.widen_types import DeltaWidenTypesOperator

TABLE = os.environ["BENCHMARK_TABLE"]

with DAG("ours", schedule=None):
    DeltaWidenTypesOperator(task_id="widen", table=TABLE, columns={"c0": "bigint"})

with DAG("plain", schedule=None):
    SparkSubmitOperator(
        task_id="widen",
        application=os.environ["BENCHMARK_APPLICATION"],
        application_args=[TABLE],
        packages="io.delta:delta-spark_4.2_2.13:4.4.0",
        conf={
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        },
    )
"""
APPLICATION = """
import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
spark.sql(f"ALTER TABLE delta.`{sys.argv[1]}` ALTER COLUMN c0 TYPE bigint")
spark.stop()
"""

PLAIN = "SparkSubmitOperator"
WARM = "ours, after a warm-up"
#: The DAG of each.
VARIANTS = {WARM: "ours", "ours": "ours", PLAIN: "plain"}


def main() -> None:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        measured = _measure(Path(folder), runs)
    medians = {
        variant: [statistics.median(column) for column in zip(*figures, strict=True)]
        for variant, figures in measured.items()
    }
    load = ", ".join(f"{minutes:.1f}" for minutes in os.getloadavg())
    print(f"{'':28}{'wall s':>8}{'ratio':>7}{'CPU s':>8}{'ratio':>7}   median of {runs}, interleaved; load {load}")
    for variant, (wall, cpu) in medians.items():
        plain_wall, plain_cpu = medians[PLAIN]
        print(f"{variant:28}{wall:8.1f}{wall / plain_wall:7.2f}{cpu:8.1f}{cpu / plain_cpu:7.2f}")


def _measure(folder: Path, runs: int) -> dict[str, list[tuple[float, float]]]:
    (folder / "dags").mkdir()
    (folder / "dags" / "benchmark.py").write_text(DAG_FILE)
    (folder / "application.py").write_text(APPLICATION)
    os.environ |= {
        "AIRFLOW_HOME": str(folder / "airflow"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(folder / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "ERROR",
        "AIRFLOW_CONN_SPARK_DEFAULT": '{"conn_type": "spark", "host": "local[2]"}',
        "BENCHMARK_APPLICATION": str(folder / "application.py"),
        "BENCHMARK_TABLE": str(folder / "table"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    _make_tables(folder, runs + 1)
    from airflow.dag_processing.dagbag import DagBag
    from airflow.utils.db import initdb

    from airflow_delta_provider.hooks.warm_up import warm_up

    initdb()
    caches = {variant: folder / f"cache-{number}" for number, variant in enumerate(VARIANTS)}
    warm_up(caches[WARM])
    bag = DagBag(folder / "dags", bundle_name="dags-folder")
    measured: dict[str, list[tuple[float, float]]] = {variant: [] for variant in VARIANTS}
    for run in range(runs + 1):
        for variant, figures in measured.items():
            _take_table(folder, f"{variant}-{run}")
            os.environ["AIRFLOW__DELTA_PROVIDER__WORKER_CACHE"] = str(caches[variant])
            before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
            state = bag.get_dag(VARIANTS[variant]).test().state
            wall, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
            if state != "success":
                raise SystemExit(f"{variant} ended as {state}")
            if run:  # the first of each warms the caches
                cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                figures.append((wall, cpu))
                print(f"run {run} {variant}: wall {wall:.1f} s, CPU {cpu:.1f} s", file=sys.stderr)
    return measured


def _make_tables(folder: Path, number: int) -> None:
    from airflow_delta_provider.jobs.spark.session import own_session
    from benchmarks.wide_table import make_table

    spark = own_session("benchmark", "local[2]")
    for run in range(number):
        for variant in VARIANTS:
            make_table(spark, folder / "made" / f"{variant}-{run}")
    spark.stop()


def _take_table(folder: Path, name: str) -> None:
    table = folder / "table"
    if table.exists():
        table.rename(folder / "made" / f"{name}-before")
    (folder / "made" / name).rename(table)


if __name__ == "__main__":
    main()
