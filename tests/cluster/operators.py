"""Operators as a task runs them, one try at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyspark
from airflow.sdk import DAG

from airflow_delta_provider.domain.request.check_options import CheckRowTrackingOptions
from airflow_delta_provider.domain.request.kinds import KINDS, load
from airflow_delta_provider.domain.request.options import Options
from airflow_delta_provider.operators.delta_job import DeltaJobOperator
from tests.airflow.test_operators import Run, Store

#: What executors of these small jobs are given. Spark's own jars are where the nodes are: none has to be sent.
SMALL = {
    "spark.executor.instances": "1",
    "spark.executor.memory": "512m",
    "spark.ui.enabled": "false",
    "spark.yarn.jars": f"local:{Path(pyspark.__file__).parent}/jars/*",
}

#: A proof that takes Spark's executors: on a small table, the driver compares row ids by itself, but for keys.
PROOF = CheckRowTrackingOptions(compare_to_version=1, key_columns=("id",))


def operator_of(options: Options, table: str, **arguments: Any) -> DeltaJobOperator:
    """Return the operator of a kind of job, with the arguments that make it ask for these options."""
    given = {name: getattr(options, name) for name in options.declared()}
    given = {name: value for name, value in given.items() if value not in (None, (), {})}
    conf = {**SMALL, **arguments.pop("conf", {})}
    with DAG("d", schedule=None):
        made: DeltaJobOperator = load(KINDS[options.kind].operator or "")(
            task_id="t", table=table, conf=conf, **{"delta_jars": "packages", **given, **arguments}
        )
    return made


def run(operator: DeltaJobOperator, store: Store | None = None, attempt: int = 1) -> dict[str, Any]:
    """Run a try of a task, and return its summary.

    :param store: what the tries of the task keep; by default this is the first and the last
    """
    return operator.execute(Run(Store() if store is None else store, try_number=attempt).context)
