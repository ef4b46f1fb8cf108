"""Reports that tasks pushed, read from Airflow's database: workers and API server share nothing else."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from datetime import datetime, timezone
from typing import Any

from airflow.models.xcom import XComModel
from sqlalchemy import and_, func, select
from sqlalchemy.orm import Session

from airflow_delta_provider.domain.report.excerpt import REPORT_KEY, Excerpt
from airflow_delta_provider.domain.report.table_rows import TABLES_KEY, Origin, TableRows

_COLUMNS = (
    XComModel.dag_id,
    XComModel.run_id,
    XComModel.task_id,
    XComModel.map_index,
    XComModel.timestamp,
    XComModel.value,
)


class UnreadableReportError(Exception):
    """The pushed value is not a report of this version: another version pushed it, or a backend keeps it elsewhere."""


def read_excerpt(session: Session, dag_id: str, run_id: str, task_id: str, map_index: int) -> Excerpt | None:
    """Return the report of a task instance; None if it pushed none.

    :raises UnreadableReportError: if it cannot be read
    """
    query = select(XComModel.value).where(
        XComModel.dag_id == dag_id,
        XComModel.run_id == run_id,
        XComModel.task_id == task_id,
        XComModel.map_index == map_index,
        XComModel.key == REPORT_KEY,
    )
    found = session.execute(query).first()
    if found is None:
        return None
    try:
        return Excerpt.from_json(_document(found.value))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnreadableReportError(str(error)) from error


def dags_that_pushed(session: Session, since: datetime) -> list[str]:
    """Return the DAGs whose tasks pushed rows of tables since a time."""
    query = select(XComModel.dag_id).where(XComModel.key == TABLES_KEY, XComModel.timestamp >= since).distinct()
    return list(session.scalars(query))


def read_rows(
    session: Session, dag_ids: Collection[str], since: datetime, limit: int
) -> Iterator[tuple[Origin, TableRows]]:
    """Yield the rows of tables that tasks pushed, newest first. Unreadable rows are left out.

    :param limit: largest number of task instances
    """
    wanted = (XComModel.key == TABLES_KEY, XComModel.timestamp >= since, XComModel.dag_id.in_(dag_ids))
    yield from _rows(session, select(*_COLUMNS).where(*wanted), limit)


def read_older_rows(
    session: Session, dag_ids: Collection[str], since: datetime, before: datetime, limit: int
) -> Iterator[tuple[Origin, TableRows]]:
    """Yield the last rows of tasks that pushed none since ``before``, newest first.

    :param before: end of the searched period
    :param limit: largest number of task instances
    """
    wanted = (XComModel.key == TABLES_KEY, XComModel.timestamp >= since, XComModel.dag_id.in_(dag_ids))
    task = (XComModel.dag_id, XComModel.task_id, XComModel.map_index)
    last = func.max(XComModel.timestamp)
    newest = select(*task, last.label("at")).where(*wanted).group_by(*task).having(last < before).subquery()
    same = (getattr(newest.c, column.key) == column for column in task)
    query = select(*_COLUMNS).join(newest, and_(*same, newest.c.at == XComModel.timestamp)).where(*wanted)
    yield from _rows(session, query, limit)


def _rows(session: Session, query: Any, limit: int) -> Iterator[tuple[Origin, TableRows]]:
    query = query.order_by(XComModel.timestamp.desc()).limit(limit)
    for dag_id, run_id, task_id, map_index, at, value in session.execute(query):
        try:
            rows = TableRows.from_json(_document(value))
        except (KeyError, TypeError, ValueError, AttributeError):
            continue
        yield Origin(dag_id, run_id, task_id, map_index, at.astimezone(timezone.utc)), rows


def _document(value: Any) -> Any:
    """Return a value as parsed JSON: Airflow stores the value that the task process sent, or its JSON string."""
    return json.loads(value) if isinstance(value, str) else value
