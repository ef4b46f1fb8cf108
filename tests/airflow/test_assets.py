"""Tables as assets, and what the operators tell Airflow beside their result: events and counters."""

from __future__ import annotations

import json
import logging
import os
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

import pytest
from airflow.providers.common.compat.sdk import Asset, AssetAlias, Stats
from airflow.sdk.execution_time.context import OutletEventAccessors

from airflow_delta_provider.assets import convert_asset_to_openlineage, sanitize_uri, table_asset
from airflow_delta_provider.domain.report.report import Finding, Severity, Status, Waiver
from airflow_delta_provider.domain.table_name import TableNameError
from airflow_delta_provider.exceptions import DeltaRetryableError
from airflow_delta_provider.operators.metrics import count_findings, gauge_tables
from airflow_delta_provider.operators.reporting import MAX_CODES, add_asset_events
from tests.airflow.fake_spark_submit import FakeSparkSubmit, spark_submit
from tests.airflow.reports import finding, report
from tests.airflow.test_operators import Run, Store, enable

try:
    from airflow.sdk.providers_manager_runtime import ProvidersManagerTaskRuntime
except ImportError:  # Airflow 3.1
    from airflow.providers_manager import ProvidersManager as ProvidersManagerTaskRuntime

__all__ = ["spark_submit"]
LOG = logging.getLogger(__name__)


@pytest.mark.parametrize(
    ("table", "uri"),
    [
        ("/lake/orders", "file:///lake/orders"),
        ("/lake//it's a table, äöü/", "file:///lake/it's a table, äöü"),
        ("file:/lake/orders", "file:///lake/orders"),
        ("/lake/50%#?", "file:///lake/50%25%23%3F"),
        ("s3a://lake/orders/", "s3://lake/orders"),
        ("delta.`s3://lake/orders`", "s3://lake/orders"),
        ("abfs://c@account.dfs.core.windows.net/t", "abfss://c@account.dfs.core.windows.net/t"),
        ("main.sales.orders", "x-delta://main/sales/orders"),
        ("orders", "x-delta://orders"),
        ("main.`my.schema`.`50%`", "x-delta://main/my.schema/50%25"),
    ],
)
def test_table_is_the_asset_of_its_uri(table: str, uri: str) -> None:
    assert table_asset(table).uri == uri
    assert Asset(uri).uri == uri, "Airflow's own spelling, which a DAG may be scheduled on"


@pytest.mark.parametrize("host", ["adb-1.azuredatabricks.net", "https://ADB-1.azuredatabricks.net/"])
def test_table_of_unity_catalog_is_the_asset_of_the_databricks_provider(host: str) -> None:
    uri = "databricks://adb-1.azuredatabricks.net/main/sales/orders"
    assert table_asset("main.sales.Orders", databricks_host=host).uri == uri
    assert table_asset("sales.orders", databricks_host=host).uri == "x-delta://sales/orders"
    assert table_asset("s3a://lake/orders", databricks_host=host).uri == "s3://lake/orders"


def test_provider_registers_its_scheme_with_airflow() -> None:
    runtime = ProvidersManagerTaskRuntime()
    found = runtime.asset_uri_handlers["x-delta"]
    assert found is sanitize_uri
    assert runtime.asset_factories["x-delta"] is table_asset
    assert runtime.asset_to_openlineage_converters["x-delta"] is convert_asset_to_openlineage
    assert found(urlsplit("x-delta://main/sales/orders")).netloc == "main"
    for wrong in ("x-delta:///orders", "x-delta://main//orders"):
        with pytest.raises(ValueError, match="parts of a table's name"):
            found(urlsplit(wrong))


@pytest.mark.skipif(find_spec("openlineage") is None, reason="OpenLineage is not there: make lineage installs it")
@pytest.mark.parametrize("table", ["main.sales.orders", "main.`my.schema`.`50%`"])
def test_asset_of_a_catalog_name_is_a_dataset(table: str) -> None:
    dataset = convert_asset_to_openlineage(table_asset(table), None)
    assert (dataset.namespace, dataset.name) == ("x-delta", table.replace("`", ""))


@pytest.mark.parametrize("table", ["lake/orders", "./lake", "", "a..b"])
def test_relative_path_and_what_names_no_table_have_no_asset(table: str) -> None:
    with pytest.raises(TableNameError):
        table_asset(table)


def events(*findings: Finding, outlets: Any = None, **known: Any) -> dict[str, list[tuple[str, dict[str, Any]]]]:
    """Return the events of a report's tables, as URI and extra by alias."""
    context: Any = {"outlet_events": OutletEventAccessors()}
    add_asset_events(context, outlets or [AssetAlias("a")], report(*findings, **known), LOG)
    return {
        alias.name: [
            (event.dest_asset_key.uri, event.extra) for event in context["outlet_events"][alias].asset_alias_events
        ]
        for alias in context["outlet_events"]
    }


@pytest.mark.parametrize(
    ("told", "emitted"),
    [
        ({"findings": [finding()]}, True),
        ({"findings": [finding(status=Status.RESOLVED)]}, True),
        ({"findings": [], "changed": True}, True),
        ({"findings": []}, False),
        ({"findings": [finding(healed_version=8)]}, False),
        ({"findings": [finding(waiver=Waiver("me", "known", "2026-12-31"))]}, False),
        ({"findings": [finding(severity=Severity.WARNING), finding(severity=Severity.UNDECIDED)]}, False),
    ],
    ids=["violated", "resolved", "changed", "nothing", "healed", "accepted", "undecided"],
)
def test_event_is_added_only_where_something_happened(told: dict[str, Any], emitted: bool) -> None:
    findings = told.pop("findings")
    assert bool(events(*findings, **told)) is emitted


def test_every_alias_gets_the_event_and_no_other_outlet_does() -> None:
    outlets = [AssetAlias("a"), Asset("s3://lake/other"), AssetAlias("b")]
    emitted = events(finding(), outlets=outlets)
    assert sorted(emitted) == ["a", "b"]
    assert [uri for uri, _ in emitted["a"]] == ["file:///lake/orders"]


def test_extra_is_bounded_json() -> None:
    codes = [f"RT{number:02d}" for number in range(2 * MAX_CODES)]
    ((_, extra),) = events(
        *(finding(code) for code in codes), *(finding(code, status=Status.RESOLVED) for code in codes)
    )["a"]
    assert json.loads(json.dumps(extra)) == extra
    assert len(extra["codes"]) == len(extra["resolved"]) == MAX_CODES


def test_table_without_an_asset_is_said_in_the_log_and_costs_no_event_of_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    others = report(finding(), table="/lake/orders").tables
    emitted = events(finding(), table="lake/relative", others=others)
    assert [uri for uri, _ in emitted["a"]] == ["file:///lake/orders"]
    assert "No asset event for lake/relative" in caplog.text


class Counted(list[tuple[str, int, dict[str, str]]]):
    """What Airflow's metrics were told."""

    def __bool__(self) -> bool:
        return True  # Airflow 3.1 makes another backend in place of one that is false

    def incr(self, stat: str, count: int = 1, rate: float = 1, *, tags: dict[str, str] | None = None) -> None:
        if stat.startswith("delta_provider."):
            self.append((stat, count, tags or {}))

    def gauge(self, stat: str, value: float, rate: float = 1, *, tags: dict[str, str] | None = None, **_: Any) -> None:
        if stat.startswith("delta_provider."):
            self.gauges.append((stat, value, tags or {}))

    def __init__(self) -> None:
        self.gauges: list[tuple[str, float, dict[str, str]]] = []


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    """The backend of Airflow's metrics."""
    backend = Counted()
    if hasattr(Stats, "instance"):  # Airflow 3.1 and 3.2
        monkeypatch.setattr(Stats, "instance", backend)
        monkeypatch.setattr(Stats, "_instance_pid", os.getpid())
    else:
        monkeypatch.setattr("airflow.sdk._shared.observability.metrics.stats._backend", backend)
    return backend


def tags(code: str, severity: str) -> dict[str, str]:
    return {"kind": "check-row-tracking", "code": code, "severity": severity}


def test_findings_that_stand_are_counted_by_code_and_severity(counted: Counted) -> None:
    resolved, healed = finding(status=Status.RESOLVED), finding("RT05", healed_version=8)
    count_findings(report(finding(), finding(version=8), finding("RT05", Severity.WARNING), resolved, healed))
    name = "delta_provider.findings"
    assert counted == [(name, 2, tags("RT08", "ERROR")), (name, 1, tags("RT05", "WARNING"))]


def test_gauges_show_the_state_of_the_tables_and_zero_if_there_is_none(counted: Counted) -> None:
    old = (datetime.now(timezone.utc) - timedelta(hours=5)).isoformat()
    found = report(
        finding(timestamp=old), finding(timestamp="no time"), finding("RT05", healed_version=8, timestamp=old)
    )
    [table] = found.tables
    behind = replace(table, version=7, evidence={"newest_version": 9})
    run = Run()

    gauge_tables(replace(found, tables=(behind,)), run.context["ti"])

    task = {"kind": found.kind, "dag_id": run.context["ti"].dag_id, "task_id": run.context["ti"].task_id}
    state = {(name, *(tags.items() - task.items())): value for name, value, tags in counted.gauges}
    assert all(task.items() <= tags.items() for _, _, tags in counted.gauges)
    oldest = state.pop(("delta_provider.oldest_open_finding", ("severity", "ERROR")))
    assert 5 * 3600 <= oldest < 5 * 3600 + 60
    assert {key: value for key, value in state.items() if value} == {
        ("delta_provider.open_findings", ("severity", "ERROR")): 2,
        ("delta_provider.tables", ("verdict", table.verdict.value)): 1,
        ("delta_provider.commits_behind",): 2,
    }
    assert len(state) == 2 + 3 + 5 + 1


def test_backend_that_is_not_configured_is_no_trouble() -> None:
    assert callable(Stats.incr)
    count_findings(report(finding()))


def test_operator_counts_a_finding_once_over_its_tries(spark_submit: FakeSparkSubmit, counted: Counted) -> None:
    told = (
        "from dataclasses import replace\n"
        "from airflow_delta_provider.domain.report.report import Finding\n"
        "from airflow_delta_provider.domain.report.report import Severity\n"
        "document = JobReport('k', '', '', tuple(\n"
        "    TableReport(t, Verdict(v), retryable=v == 'FAULT', findings=(Finding(c, Severity('ERROR'), 'm'),))\n"
        "    for t, v, c in {tables}), {{}})\n"
        "send('report', document.to_json())"
    )
    store = Store()
    spark_submit.does(told.format(tables=[("/a", "VIOLATED", "RT08"), ("/b", "FAULT", "FT01")]))
    with pytest.raises(DeltaRetryableError):
        enable(tables=["/a", "/b"], on_violation="warn").execute(Run(store).context)
    spark_submit.does(told.format(tables=[("/b", "VIOLATED", "RT05")]))
    run = Run(store, try_number=2)
    run.context["outlet_events"] = OutletEventAccessors()
    enable(tables=["/a", "/b"], on_violation="warn", outlets=[AssetAlias("a")]).execute(run.context)
    assert [found["code"] for _, _, found in counted] == ["RT08", "FT01", "RT05"]
    added = run.context["outlet_events"][AssetAlias("a")].asset_alias_events
    assert [event.dest_asset_key.uri for event in added] == ["file:///a", "file:///b"]
