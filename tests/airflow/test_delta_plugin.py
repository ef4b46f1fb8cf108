"""The pages in Airflow's UI: the real API server and a real database, asked by people who may read different DAGs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from airflow import plugins_manager
from airflow.api_fastapi.app import create_app, purge_cached_app
from fastapi.testclient import TestClient

from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.report.pages import REPORT_KEY, TABLES_KEY
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.exceptions import DeltaViolationError
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.run.runner import run as run_job
from airflow_delta_provider.operators.audit_protocol import DeltaAuditProtocolOperator
from airflow_delta_provider.plugins import application as plugin_application
from airflow_delta_provider.plugins.application import application
from airflow_delta_provider.plugins.delta_plugin import PREFIX, DeltaPlugin
from tests.airflow.airflow_database import make_database, push
from tests.airflow.one_dag_auth_manager import MINE, OTHERS, OneDagAuthManager, token_of
from tests.airflow.test_operators import Run
from tests.unit.command_line.tables import damaged
from tests.unit.local_table import OnDisk
from tests.unit.log_builder import WIDENING, Table
from tests.unit.rendering.test_html_page import Page
from tests.unit.states import field

COLUMN = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def app() -> Iterator[Any]:
    """Airflow's API server, as it starts with this plugin installed."""
    own = f"{OneDagAuthManager.__module__}.{OneDagAuthManager.__name__}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "AIRFLOW__CORE__AUTH_MANAGER", own)
        purge_cached_app()
        make_database()
        yield create_app(apps="core")
        purge_cached_app()


class Browser:
    """Somebody who looks at pages."""

    def __init__(self, app: Any, name: str | None) -> None:
        self._client = TestClient(app, raise_server_exceptions=False)
        if name is not None:
            self._client.headers["Authorization"] = f"Bearer {token_of(app.state.auth_manager, name)}"

    def get(self, path: str) -> Any:
        return self._client.get(f"/{PREFIX}/{path}", follow_redirects=False)


@pytest.fixture(scope="module")
def ann(app: Any) -> Browser:
    return Browser(app, "ann")


@pytest.fixture(scope="module")
def pushed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a real audit pushed, of a table of which a commit has two metaData actions, and one that is sound."""
    lake = tmp_path_factory.mktemp("lake")
    table = Table(field("id", "integer"), features=["typeWidening"], properties={WIDENING: "true"}).append()
    table.add_column(field(COLUMN, "string")).widen("id", "long").append()
    first = next(action for action in table.commits[3] if "metaData" in action)
    table.commits[4].extend([first, first])
    OnDisk(lake / "damaged", table)
    OnDisk(lake / "sound", Table(field("id", "long")).append())
    run = Run()
    audit = DeltaAuditProtocolOperator(task_id="t", tables=[f"{lake}/damaged", f"{lake}/sound"], engine="python")
    with pytest.raises(DeltaViolationError):
        audit.execute(run.context)
    return run.pushed


def task_path(dag_id: str, run_id: str, task_id: str = "audit") -> str:
    return f"dags/{quote(dag_id)}/runs/{quote(run_id, safe='')}/tasks/{task_id}?map_index=%7BMAP_INDEX%7D"


def paths_of(dag_id: str, run_id: str) -> dict[str, str]:
    """A path for each route that is about a DAG."""
    return {
        "/dags/{dag_id}/runs/{run_id}/tasks/{task_id}": task_path(dag_id, run_id),
        "/dags/{dag_id}/rules/{code}": f"dags/{dag_id}/rules/MD03",
    }


def test_every_route_but_the_list_is_about_a_dag() -> None:
    routes = {getattr(route, "path", "") for route in application().routes}
    assert routes == {*paths_of("", ""), "/tables", "/findings"}


def test_airflow_loads_the_plugin(app: Any) -> None:
    (point,) = (p for p in entry_points(group="airflow.plugins") if p.value.startswith("airflow_delta_provider."))
    assert point.load() is DeltaPlugin
    # An installation that can be edited is found in the folder of its sources, too.
    errors = getattr(plugins_manager, "get_import_errors", lambda: plugins_manager.import_errors)  # before 3.2
    assert all("already registered" in error for error in errors().values())
    assert f"/{PREFIX}" in {getattr(route, "path", None) for route in app.routes}


@pytest.mark.parametrize("dag_id", [MINE, OTHERS, "~", "nowhere", "%20"])
def test_nobody_who_is_not_signed_in_sees_anything(app: Any, pushed: dict[str, Any], dag_id: str) -> None:
    nobody, run_id = Browser(app, None), push(MINE, pushed)
    for path in (*paths_of(dag_id, run_id).values(), "tables", "findings"):
        assert nobody.get(path).status_code == 401, path


@pytest.mark.parametrize("dag_id", [OTHERS, "~", "nowhere", "%20", "mine%00", "MINE"])
def test_dag_that_is_not_mine_is_forbidden_whether_or_not_it_exists(
    ann: Browser, pushed: dict[str, Any], dag_id: str
) -> None:
    run_id = push(OTHERS, pushed)
    for path in paths_of(dag_id, run_id).values():
        assert ann.get(path).status_code == 403, path
        assert ann.get(f"{path}{'&' if '?' in path else '?'}dag_id={MINE}").status_code == 403, "the path counts"


def test_one_who_may_read_the_dag_but_not_its_xcoms_sees_nothing_of_it(app: Any, pushed: dict[str, Any]) -> None:
    bob, run_id = Browser(app, "bob"), push(MINE, pushed)
    for path in paths_of(MINE, run_id).values():
        assert bob.get(path).status_code == 403, path
    assert "damaged" not in bob.get("tables").text


def test_run_of_another_dag_is_not_found_under_mine(ann: Browser, pushed: dict[str, Any]) -> None:
    answer = ann.get(task_path(MINE, push(OTHERS, pushed)))
    assert answer.status_code == 404
    assert "damaged" not in answer.text


@pytest.mark.parametrize(
    "path", ["dags", "dags/", "dags//runs/r/tasks/t", "dags/mine", "docs", "openapi.json", "redoc", ""]
)
def test_nothing_else_is_served(ann: Browser, path: str) -> None:
    assert ann.get(path).status_code == 404


def test_tilde_is_no_dag_for_those_who_may_read_all(app: Any, pushed: dict[str, Any]) -> None:
    run_id = push(MINE, pushed)
    assert Browser(app, "root").get(task_path("~", run_id)).status_code == 404


def test_page_of_a_task_shows_verdict_finding_protocol_and_timeline(ann: Browser, pushed: dict[str, Any]) -> None:
    answer = ann.get(task_path(MINE, push(MINE, pushed)))
    page = Page(answer.text)
    assert answer.status_code == 200
    for said in ("VIOLATED", RULES["MD03"].title, RULES["MD03"].effect, RULES["MD03"].remedy, "typeWidening"):
        assert said in page.text
    assert [(f["code"], f["version"]) for f in pushed["findings"]["findings"]] == [("MD03", 4)]
    [picture] = [
        svg for svg in page.attributes("svg") if svg.get("role") == "img" and "MD03" in (svg["aria-label"] or "")
    ]
    for said in ("version 0 creates the table", "widens id from int to bigint", f"adds {COLUMN} string"):
        assert said in (picture["aria-label"] or ""), "the picture says in words what it shows"
    [rule] = {known["href"] for known in page.attributes("a") if (known["href"] or "").endswith("/MD03")}
    assert RULES["MD03"].remedy in Page(ann.get(f"dags/{MINE}/rules/MD03").text).text
    assert rule == "../../../rules/MD03"


def test_names_are_text_wherever_they_appear(ann: Browser, pushed: dict[str, Any]) -> None:
    for path in (task_path(MINE, push(MINE, pushed)), "tables?q=%3Cscript%3Ealert(1)&kind=%22%3E%3Cscript%3E"):
        answer = ann.get(path)
        assert "<script>alert" not in answer.text
        assert "&lt;script&gt;" in answer.text
        assert all("alert" not in script for script in Page(answer.text).scripts)


def test_pages_run_their_own_scripts_alone_and_load_nothing(ann: Browser, pushed: dict[str, Any]) -> None:
    for path in (task_path(MINE, push(MINE, pushed)), "tables", f"dags/{MINE}/rules/MD03", task_path(MINE, "none")):
        answer = ann.get(path)
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; ")
        assert "unsafe" not in policy
        assert "frame-ancestors 'self'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "no-store" in answer.headers["cache-control"]
        page = Page(answer.text)
        assert not any(name in known for _, known in page.tags for name in ("src", "style", "onclick", "onload"))
        assert {"link", "img", "iframe", "object"} & {tag for tag, _ in page.tags} == set()


def test_list_shows_tables_of_readable_dags_alone(app: Any, ann: Browser, pushed: dict[str, Any]) -> None:
    push(MINE, {TABLES_KEY: {"kind": "audit", "tables": [["/lake/mine", "PASS", 3, 0]], "omitted": 0}})
    push(OTHERS, {TABLES_KEY: {"kind": "audit", "tables": [["/lake/hidden", "PASS", 3, 0]], "omitted": 0}})
    assert "/lake/hidden" in Page(Browser(app, "root").get("tables").text).text
    shown = ann.get("tables").text
    assert "/lake/mine" in Page(shown).text
    assert "/lake/hidden" not in Page(shown).text
    assert f"{OTHERS} ·" not in shown


def test_list_says_since_when_the_newest_verdict_holds(ann: Browser) -> None:
    for days_ago, verdict in ((40, "FAULT"), (20, "PASS"), (9, "VIOLATED"), (5, "VIOLATED"), (1, "VIOLATED")):
        rows = {"kind": "audit", "tables": [["/lake/since", verdict, 3, 0]], "omitted": 0}
        run_id = push(MINE, {TABLES_KEY: rows}, days_ago=days_ago)
    push(MINE, {TABLES_KEY: {"kind": "detail", "tables": [["/lake/since", "PASS", 3, 0]], "omitted": 0}})
    text = ann.get("tables?q=/lake/since&kind=audit").text
    [row] = re.findall(r"<tr><td>.*?</tr>", text, re.S)
    times = [match.replace(" UTC", "") for match in re.findall(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", row)]
    now = datetime.now(timezone.utc)
    for shown, days in zip(times, (9, 1)):
        at = datetime.fromisoformat(shown).replace(tzinfo=timezone.utc)
        assert abs(now - timedelta(days=days) - at) < timedelta(minutes=5)
    assert "or before" not in row
    assert "VIOLATED" in row
    assert quote(run_id, safe="") in row
    assert "2 rows" in Page(ann.get("tables?q=/lake/since").text).text, "a look of another kind says nothing of audits"


def test_list_is_filtered_and_paged(ann: Browser) -> None:
    names = [f"/lake/paged/{number:03}" for number in range(120)]
    for number in range(0, 120, 40):
        rows = [[name, "PASS", 1, 0] for name in names[number : number + 40]]
        push(MINE, {TABLES_KEY: {"kind": "audit", "tables": rows, "omitted": 0}}, task_id=f"t{number}")
    seen = set()
    for number in (1, 2, 3):
        page = Page(ann.get(f"tables?q=paged&page={number}").text)
        assert f"Page {number} of 3" in page.text
        seen |= {name for name in names if name in page.text}
    assert seen == set(names)
    assert "40 rows found" in Page(ann.get("tables?q=PAGED+t40").text).text
    assert "0 rows found" in Page(ann.get("tables?q=paged&verdict=FAULT").text).text
    assert ann.get("tables?page=0").status_code == 422
    assert "Page 3 of 3" in ann.get("tables?q=paged&page=99").text


def test_list_has_tables_of_tasks_that_ran_long_ago(ann: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugin_application, "MAX_TASKS", 2)
    for days_ago, verdict in ((29, "VIOLATED"), (28, "PASS")):
        rows = {"kind": "audit", "tables": [["/lake/monthly", verdict, 3, 0]], "omitted": 0}
        push(MINE, {TABLES_KEY: rows}, days_ago=days_ago, task_id="monthly")
    for _ in range(3):
        push(MINE, {TABLES_KEY: {"kind": "audit", "tables": [["/lake/busy", "PASS", 3, 0]], "omitted": 0}})
    text = Page(ann.get("tables?q=monthly").text).text
    assert "1 row found" in text
    assert "only the last of each task counts" in text
    assert "or before" in text


@pytest.mark.parametrize("value", ["s3://bucket/xcom.json", {"schema_version": 99}, None, [], 3, {"tables": 1}])
def test_report_that_cannot_be_read_is_said_so(ann: Browser, value: Any) -> None:
    answer = ann.get(task_path(MINE, push(MINE, {REPORT_KEY: value, TABLES_KEY: value})))
    assert answer.status_code == 404
    assert "cannot be shown" in answer.text
    assert ann.get("tables").status_code == 200


@pytest.mark.parametrize("index", ["x", "1", "99999999999999999999", ""])
def test_map_index_that_is_none_has_no_report(ann: Browser, pushed: dict[str, Any], index: str) -> None:
    path = task_path(MINE, push(MINE, pushed)).partition("?")[0]
    assert ann.get(f"{path}?map_index={index}").status_code == 404
    assert ann.get(path).status_code == 200


def test_mapped_task_has_its_own_report(ann: Browser, pushed: dict[str, Any]) -> None:
    path = task_path(MINE, push(MINE, pushed, index=7)).partition("?")[0]
    assert ann.get(f"{path}?map_index=7").status_code == 200


def test_plugin_takes_no_time_to_import(tmp_path: Path) -> None:
    code = "import sys, airflow_delta_provider.plugins.delta_plugin; print([m for m in sys.modules if m == 'fastapi'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.strip().endswith("[]"), "workers import plugins, and serve no pages"


@pytest.fixture
def findings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The configured table: a violation by each of two DAGs, and one from the command line."""
    table, lake = tmp_path / "ops" / "findings", tmp_path / "lake"
    damaged(lake / "orders", "AC08")
    for dag_id in (MINE, OTHERS, None):
        named = lake / f"orders_{dag_id}"
        (lake / "orders").rename(named)
        labels = {"dag_id": dag_id, "run_id": "r 1", "task_id": "audit", "map_index": 2} if dag_id else {}
        options = AuditOptions(findings_table=str(table), ownership=({"table": "*", "owner": f"team of {dag_id}"},))
        assert run_job(JobRequest((str(named),), options, labels=labels), python_session()).warnings == ()
        named.rename(lake / "orders")
    monkeypatch.setenv("AIRFLOW__DELTA_PROVIDER__FINDINGS_TABLE", str(table))
    return table


def test_open_findings_are_shown_of_readable_dags_alone(app: Any, ann: Browser, findings: Path) -> None:
    shown = ann.get("findings")
    text = Page(shown.text).text
    assert shown.status_code == 200
    assert "1 finding found" in text
    assert "AC08" in text
    assert f"team of {MINE}" in text
    assert f"team of {OTHERS}" not in text
    assert "team of None" not in text
    assert f"dags/{MINE}/runs/r%201/tasks/audit?map_index=2" in shown.text
    assert "0 findings found" in Page(Browser(app, "bob").get("findings").text).text
    assert "3 findings found" in Page(Browser(app, "root").get("findings").text).text
    assert "1 finding found" in Page(Browser(app, "root").get("findings?q=OTHERS+ac08").text).text
    assert 'href="findings"' in ann.get("tables").text


def test_without_a_table_of_findings_the_page_says_how_to_set_one(
    ann: Browser, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert "findings_table" in ann.get("findings").text
    assert 'href="findings"' not in ann.get("tables").text
    monkeypatch.setenv("AIRFLOW__DELTA_PROVIDER__FINDINGS_TABLE", str(tmp_path / "none"))
    answer = ann.get("findings")
    assert answer.status_code == 503
    assert str(tmp_path) not in answer.text
