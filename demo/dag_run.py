"""``python -m demo.dag_run``: run DAGs with ``dag.test()`` and write what came of each.

A process of its own, since Airflow reads its configuration from the environment when it is imported; one
for all runs, since that import takes seconds. Each line of standard input is a JSON object with
``dag_id``, ``params`` and ``result``, the file to write.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any


def main() -> int:
    """Run one DAG a line, until there are no more lines."""
    from airflow.configuration import conf

    try:
        from airflow.dag_processing.dagbag import DagBag
    except ImportError:  # Airflow 3.1
        from airflow.models.dagbag import DagBag

    bag = DagBag(conf.get("core", "dags_folder"))
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["dag_id"] not in bag.dags:
            print(f"No DAG {asked['dag_id']}: {bag.import_errors or sorted(bag.dags)}", file=sys.stderr)
            return 1
        outcome = run(bag.dags[asked["dag_id"]], asked["params"])
        unfinished = Path(f"{asked['result']}.unfinished")
        unfinished.write_text(json.dumps(outcome, default=str), encoding="utf-8")
        os.replace(unfinished, asked["result"])
    return 0


def run(dag: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Run a DAG; return the states of the run and its tasks, with what each task pushed."""
    from airflow.models.xcom import XComModel
    from airflow.utils.session import create_session

    run = dag.test(run_conf=params)
    tasks = [
        {"task_id": ti.task_id, "map_index": ti.map_index, "state": str(ti.state), "xcoms": {}}
        for ti in run.get_task_instances()
    ]
    with create_session() as session:
        for task in tasks:
            pushed = XComModel.get_many(
                run_id=run.run_id,
                dag_ids=dag.dag_id,
                task_ids=task["task_id"],
                map_indexes=task["map_index"],
            )
            for row in session.scalars(pushed):
                task["xcoms"].setdefault(row.key, XComModel.deserialize_value(row))
    return {"state": str(run.state), "run_id": run.run_id, "tasks": tasks}


if __name__ == "__main__":
    sys.exit(main())
