"""A database of Airflow with the XComs of tasks, as an API server finds them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any
from uuid import uuid4

from airflow.models.dagrun import DagRun
from airflow.models.taskinstance import TaskInstance
from airflow.models.xcom import XComModel
from airflow.utils.db import initdb
from airflow.utils.session import create_session
from sqlalchemy import insert, text

#: Ids of task instances, which were texts before Airflow 3.2.
TASK_ID = TaskInstance.__table__.c.id.type.python_type


def make_database() -> None:
    """Make the tables of the database that Airflow is configured with, unless they are there."""
    initdb()


def push(
    dag_id: str, values: Mapping[str, Any], *, days_ago: float = 0, task_id: str = "audit", index: int = -1
) -> str:
    """Store what a task of a new run pushed; return the id of the run."""
    run_id = f"manual__{uuid4()}+00:00"
    push_all([(dag_id, run_id, task_id, index, datetime.now(timezone.utc) - timedelta(days=days_ago), values)])
    return run_id


def push_all(pushed: Iterable[tuple[str, str, str, int, datetime, Mapping[str, Any]]]) -> None:
    """Store what tasks pushed: DAG, run, task, map index, time, and values by key."""
    with create_session() as session:
        session.execute(text("PRAGMA foreign_keys=OFF"))  # DAGs themselves are not looked at
        first = session.scalar(text("SELECT COALESCE(MAX(id), 0) + 1 FROM dag_run")) or 1
        runs, tasks, xcoms = [], [], []
        for number, (dag_id, run_id, task_id, index, at, values) in enumerate(pushed, first):
            where = {"dag_id": dag_id, "run_id": run_id}
            runs.append({"id": number, **where, "run_type": "manual", "run_after": at, "logical_date": None})
            task = {**where, "task_id": task_id, "map_index": index}
            tasks.append({"id": TASK_ID(str(uuid4())), **task, "pool": "default_pool", "max_tries": 0, "try_number": 1})
            xcoms += [
                {"dag_run_id": number, **task, "key": key, "value": value, "timestamp": at}
                for key, value in values.items()
            ]
        session.execute(insert(DagRun.__table__), runs)
        session.execute(insert(TaskInstance.__table__), tasks)
        session.execute(insert(XComModel.__table__), xcoms)
