"""``python -m demo.dag_run DAG_ID RESULT``: run one DAG with ``dag.test()`` and write what came of it.

A process of its own, since Airflow reads its configuration from the environment when it is imported.
The params of the run are read from standard input, as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main(dag_id: str, result: str) -> int:
    """Run the DAG; the exit code says whether it could be run, not how it ended."""
    from airflow.configuration import conf
    from airflow.dag_processing.dagbag import DagBag
    from airflow.models.xcom import XComModel
    from airflow.utils.session import create_session

    bag = DagBag(conf.get("core", "dags_folder"))
    dag = bag.dags.get(dag_id)
    if dag is None:
        print(f"No DAG {dag_id}: {bag.import_errors or sorted(bag.dags)}", file=sys.stderr)
        return 2
    run = dag.test(run_conf=json.load(sys.stdin))
    tasks = [
        {"task_id": ti.task_id, "map_index": ti.map_index, "state": str(ti.state), "xcoms": {}}
        for ti in run.get_task_instances()
    ]
    with create_session() as session:
        for task in tasks:
            pushed = XComModel.get_many(
                run_id=run.run_id,
                dag_ids=dag_id,
                task_ids=task["task_id"],
                map_indexes=task["map_index"],
            )
            for row in session.scalars(pushed):
                task["xcoms"].setdefault(row.key, XComModel.deserialize_value(row))
    Path(result).write_text(json.dumps({"state": str(run.state), "run_id": run.run_id, "tasks": tasks}, default=str))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
