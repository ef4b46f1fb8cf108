"""The web application behind the pages.

A task's page needs access to the XComs of its DAG, which the page's path names.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from typing import Annotated, Any

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.api_fastapi.common.db.common import SessionDep
from airflow.api_fastapi.core_api.security import GetUserDep, requires_access_dag
from airflow.models.dag import DagModel
from fastapi import Depends, FastAPI, Query
from fastapi.responses import HTMLResponse

from airflow_delta_provider.domain.rendering.html_page.document import Document
from airflow_delta_provider.domain.rendering.html_page.tables_page import Reach, Search, tables_page
from airflow_delta_provider.domain.rendering.html_page.task_page import message_page, rule_page, task_page
from airflow_delta_provider.domain.report.table_rows import Looks
from airflow_delta_provider.domain.report.verdict import Verdict
from airflow_delta_provider.plugins.pushed_reports import (
    UnreadableReportError,
    dags_that_pushed,
    read_excerpt,
    read_older_rows,
    read_rows,
)

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
    looks = Looks.of(read_rows(session, dag_ids, since, MAX_TASKS)) if dag_ids else Looks()
    if looks.oldest is not None:
        looks = looks.and_older(read_older_rows(session, dag_ids, since, looks.oldest, MAX_OLDER))
    reach = Reach(DAYS, cut=looks.tasks == MAX_TASKS, crowded=looks.crowded)
    wanted = Verdict(verdict) if verdict in {known.value for known in Verdict} else None
    return _answer(tables_page(looks.latest, Search(q, wanted, kind, page), reach))


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
