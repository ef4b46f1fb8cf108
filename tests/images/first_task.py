"""The first task of a worker: widens a column of a table by an operator, and says how its driver loaded classes.

``python first_task.py TABLE LOG_FOLDER``, in an environment that has Airflow's settings.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from pathlib import Path

DAG_FILE = """
import os

from airflow.sdk import DAG

from airflow_delta_provider.operators.widen_types import DeltaWidenTypesOperator

with DAG("first", schedule=None):
    DeltaWidenTypesOperator(task_id="widen", table=os.environ["TABLE"], columns={"quantity": "bigint"})
"""


def main(table: str, logs: str) -> None:
    from airflow.dag_processing.dagbag import DagBag
    from airflow.utils.db import initdb

    os.environ["TABLE"] = table
    dags = Path(os.environ["AIRFLOW_HOME"], "dags")
    (dags / "first.py").write_text(DAG_FILE)
    initdb()
    dag = DagBag(dags, bundle_name="dags-folder").get_dag("first")
    os.environ["JDK_JAVA_OPTIONS"] = f"-Xlog:class+load:file={logs}/%p.log"
    started = time.monotonic()
    state = dag.test().state
    seconds = time.monotonic() - started
    sources = [line for log in Path(logs).glob("*.log") for line in log.read_text().splitlines() if "source: " in line]
    # Java 17 keeps no classes of Scala's lambdas.
    named = [line for line in sources if "$$Lambda" not in line]
    spark = [line for line in named if re.search(r"\] org\.apache\.(spark|hadoop)\.|\] io\.delta\.", line)]
    print(
        json.dumps(
            {
                "user": os.getuid(),
                "state": str(state),
                "seconds": seconds,
                "classes": len(spark),
                "from_archive": sum("shared objects file (top)" in line for line in spark),
                "delta_jars": sorted(
                    {jar for line in sources for jar in re.findall(r"file:(\S*io\.delta_\S*\.jar)", line)}
                ),
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
