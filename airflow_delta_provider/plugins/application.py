"""The web application behind the pages.

A task's page needs access to the XComs of its DAG, which the page's path names.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime, timedelta, timezone
from typing import Annotated, Any

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.api_fastapi.common.db.common import SessionDep
from airflow.api_fastapi.core_api.security import GetUserDep, requires_access_dag
from airflow.models.dag import DagModel
from airflow.models.xcom import XComModel
from fastapi import Depends, FastAPI, Query
from fastapi.responses import HTMLResponse
from sqlalchemy import and_, func, select
from sqlalchemy.orm import Session

from airflow_delta_provider.configuration import findings_table
from airflow_delta_provider.domain.rendering.html import Document
from airflow_delta_provider.domain.rendering.ui_pages import (
    ListExtent,
    Search,
    findings_page,
    message_page,
    rule_page,
    tables_page,
    task_page,
)
from airflow_delta_provider.domain.report.pages import REPORT_KEY, TABLES_KEY, Excerpt, LatestResults, Origin, TableRows
from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.plugins.findings_reader import FindingsUnreadableError, read_open_findings

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


#: Limits of the list of tables: age in days, number of newest task instances, and number of other tasks with older
#: instances.
DAYS, MAX_TASKS, MAX_OLDER = 30, 10_000, 5_000
#: Placeholder that Airflow's UI leaves in the address of a task that is not mapped.
_NOT_MAPPED = "{MAP_INDEX}"
_RULES, _TABLES = "../../../rules", "../../../../../tables"
_HEADERS = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "private, no-store"}

MayReadXComs = Depends(requires_access_dag("GET", DagAccessEntity.XCOM))


def application() -> FastAPI:
    """Return the application, without FastAPI's pages about itself, which need no permission."""
    app = FastAPI(title="Delta reports", docs_url=None, redoc_url=None, openapi_url=None)
    pages: dict[str, Any] = {"response_class": HTMLResponse, "methods": ["GET"]}
    for path, page, needed in (
        ("/dags/{dag_id}/runs/{run_id}/tasks/{task_id}", show_task, [MayReadXComs]),
        ("/dags/{dag_id}/rules/{code}", show_rule, [MayReadXComs]),
        ("/tables", show_tables, []),
        ("/findings", show_findings, []),
    ):
        app.add_api_route(path, page, dependencies=needed, **pages)
    return app


def show_task(dag_id: str, run_id: str, task_id: str, session: SessionDep, map_index: str = "-1") -> HTMLResponse:
    """Return the report of a task instance."""
    index = _index(map_index)
    try:
        excerpt = None if index is None else read_excerpt(session, dag_id, run_id, task_id, index)
    except UnreadableReportError:
        return _answer(
            message_page(
                "The report cannot be shown",
                "Another version of airflow-delta-provider pushed it, or the XCom backend keeps it where the API "
                "server does not look. The XCom return_value of the task names its file as report_path.",
            ),
            status=404,
        )
    if excerpt is None:
        return _answer(
            message_page(
                "No Delta report",
                "This task has pushed none. Tasks of airflow-delta-provider push one at the end of each try, unless "
                "they are set not to push XComs, or could not run their job: then their log says why.",
                "A task that asks for an approval shows the plan in its form. The report is on the page of the task "
                "that planned.",
                links=(("All Delta tables", _TABLES),),
            ),
            status=404,
        )
    return _answer(task_page(excerpt, rules=_RULES, tables=_TABLES))


def show_rule(code: str) -> HTMLResponse:
    """Return the page of a rule, for this version of the package and without network access."""
    page = rule_page(code)
    if page is None:
        return _answer(message_page("No such rule", "This version of airflow-delta-provider does not know it."), 404)
    return _answer(page)


def show_tables(
    user: GetUserDep,
    session: SessionDep,
    q: Annotated[str, Query(max_length=500)] = "",
    verdict: Annotated[str, Query(max_length=20)] = "",
    kind: Annotated[str, Query(max_length=100)] = "",
    page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
) -> HTMLResponse:
    """Return the list of tables, only from DAGs whose XComs the user may read."""
    since = datetime.now(timezone.utc) - timedelta(days=DAYS)
    dag_ids = _readable(dags_that_pushed(session, since), user)
    results = LatestResults.of(read_rows(session, dag_ids, since, MAX_TASKS)) if dag_ids else LatestResults()
    if results.oldest is not None:
        results = results.and_older(read_older_rows(session, dag_ids, since, results.oldest, MAX_OLDER))
    reach = ListExtent(DAYS, cut=results.tasks == MAX_TASKS, crowded=results.crowded)
    wanted = Verdict(verdict) if verdict in {known.value for known in Verdict} else None
    return _answer(
        tables_page(results.latest, Search(q, wanted, kind, page), reach, has_findings=bool(findings_table()))
    )


def show_findings(
    user: GetUserDep,
    q: Annotated[str, Query(max_length=500)] = "",
    page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
) -> HTMLResponse:
    """Return the open findings of DAGs whose XComs the user may read; of other runs, if the user may read all DAGs."""
    place = findings_table()
    if not place:
        return _answer(
            message_page("No table of findings", "Set findings_table of [delta_provider] in Airflow's configuration."),
            status=404,
        )
    try:
        found = read_open_findings(place)
    except FindingsUnreadableError as error:
        return _answer(message_page("The table of findings cannot be read", str(error)), status=503)
    readable = {*_readable({each.dag_id for each in found if each.dag_id}, user)}
    may_read_all = get_auth_manager().is_authorized_dag(method="GET", access_entity=DagAccessEntity.XCOM, user=user)
    shown = [each for each in found if (each.dag_id in readable if each.dag_id else may_read_all)]
    return _answer(findings_page(shown, q, page))


def _readable(dag_ids: Iterable[str], user: Any) -> list[str]:
    """Return the DAGs whose XComs a user may read."""
    manager = get_auth_manager()
    return [
        dag_id
        for dag_id in dag_ids
        if manager.is_authorized_dag(
            method="GET", access_entity=DagAccessEntity.XCOM, details=_details(dag_id), user=user
        )
    ]


def _details(dag_id: str) -> DagDetails:
    """Return a DAG's details for the auth manager, with the DAG's team if it has one."""
    return DagDetails(id=dag_id, team_name=DagModel.get_team_name(dag_id))


def _index(text: str) -> int | None:
    """Return a map index; None if the string is not one."""
    if text == _NOT_MAPPED:
        return -1
    try:
        index = int(text)
    except ValueError:
        return None
    return index if -1 <= index < 2**31 else None  # the limit of databases


def _answer(page: Document, status: int = 200) -> HTMLResponse:
    # Browsers enforce both policies. This one also restricts the sites that may frame the page.
    policy = f"{page.policy}; frame-ancestors 'self'"
    return HTMLResponse(page.html, status, {**_HEADERS, "Content-Security-Policy": policy})
