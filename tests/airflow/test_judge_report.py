"""Reports of jobs that ran elsewhere, judged as those of this package's own tasks are."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AssetAlias
from airflow.sdk import DAG
from airflow.sdk.execution_time.context import OutletEventAccessors

from airflow_delta_provider.domain.report.report import JobReport, Severity
from airflow_delta_provider.exceptions import (
    DeltaReportUnavailableError,
    DeltaRequestError,
    DeltaViolationError,
)
from airflow_delta_provider.operators.judge_report import DeltaReportOperator
from airflow_delta_provider.report_store import read_report
from tests.airflow.reports import NOW, ORDERS, finding, report

BEFORE, AFTER = "2026-01-02T00:00:00+00:00", "2026-01-02T04:00:00Z"


class Judged:
    """One run of the operator, and what it pushed."""

    def __init__(self, folder: Path, file: str = "report.json", **arguments: Any) -> None:
        self.pushed: dict[str, Any] = {}
        self.operator = DeltaReportOperator(
            task_id="judge",
            report_uri=str(folder / file),
            report_path=str(folder / "kept"),
            dag=DAG("elsewhere", schedule=None, start_date=datetime(2026, 1, 1, tzinfo=timezone.utc)),
            **arguments,
        )
        instance = SimpleNamespace(
            dag_id="elsewhere",
            task_id="judge",
            run_id="manual",
            map_index=-1,
            try_number=1,
            xcom_push=lambda key, value: self.pushed.update({key: value}),
            xcom_pull=lambda **_: None,
        )
        self.context: Any = {"ti": instance, "task": self.operator, "outlet_events": {}}

    def execute(self) -> dict[str, Any]:
        return self.operator.execute(self.context)


def written(folder: Path, made: JobReport, file: str = "report.json", *, packed: bool = False) -> Path:
    content = json.dumps(made.to_json()).encode()
    (folder / file).write_bytes(gzip.compress(content) if packed else content)
    return folder


@pytest.mark.parametrize("packed", [False, True])
def test_a_report_without_a_violation_succeeds_and_is_pushed_like_any_other(tmp_path: Path, packed: bool) -> None:
    judged = Judged(written(tmp_path, report(), packed=packed))
    assert judged.execute()["verdict"] == "PASS"
    assert judged.pushed["findings"]["findings"] == []
    assert {"delta_report", "delta_tables"} <= judged.pushed.keys()


def test_a_violation_fails_the_task_which_has_pushed_and_kept_the_report_before(tmp_path: Path) -> None:
    judged = Judged(written(tmp_path, report(finding())))
    with pytest.raises(DeltaViolationError, match="RT08"):
        judged.execute()
    assert [f["code"] for f in judged.pushed["findings"]["findings"]] == ["RT08"]
    assert read_report(judged.pushed["return_value"]["report_path"]).tables[0].table == ORDERS
    warned = Judged(tmp_path, on_violation="warn")
    assert warned.execute()["verdict"] == "VIOLATED"
    undecided = written(tmp_path, report(finding(severity=Severity.UNDECIDED)), "undecided.json")
    assert Judged(undecided, "undecided.json").execute()["verdict"] == "UNDETERMINED"


def test_a_report_of_an_earlier_run_is_waited_for_by_retries(tmp_path: Path) -> None:
    written(tmp_path, report())
    assert Judged(tmp_path, not_before=BEFORE).execute()["verdict"] == "PASS"
    with pytest.raises(DeltaReportUnavailableError, match=f"began at {NOW[:19]}.*has not written its report yet"):
        Judged(tmp_path, not_before=AFTER).execute()


def test_a_report_that_is_not_there_or_not_whole_is_waited_for_by_retries(tmp_path: Path) -> None:
    with pytest.raises(DeltaReportUnavailableError, match="there is no such file"):
        Judged(tmp_path).execute()
    whole = written(tmp_path, report(), "packed.gz", packed=True) / "packed.gz"
    for number, content in enumerate((b"", b'{"kind": "audit", "tab', whole.read_bytes()[:-20])):
        (tmp_path / f"{number}.json").write_bytes(content)
        with pytest.raises(DeltaReportUnavailableError, match=r"No report at .*json: "):
            Judged(tmp_path, f"{number}.json").execute()


@pytest.mark.parametrize(
    "wire", [[], {}, {"schema_version": 2}, {"schema_version": 1}, {**report().to_json(), "tables": [{}]}]
)
def test_what_is_no_report_of_this_version_fails_for_good(tmp_path: Path, wire: Any) -> None:
    (tmp_path / "report.json").write_text(json.dumps(wire))
    with pytest.raises(DeltaRequestError, match="is not a report that can be judged"):
        Judged(tmp_path).execute()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"report_uri": "reports/nightly.json"}, "report_uri is .* relative"),
        ({"report_uri": "s3://key:secret@bucket/report.json"}, "report_uri holds a password"),
        ({"not_before": "yesterday"}, "not_before is 'yesterday'"),
        ({"not_before": "2026-01-02T03:04:05"}, "with its offset"),
        ({"on_violation": "ignore"}, "on_violation is 'ignore'"),
    ],
)
def test_wrong_arguments_are_refused_where_the_dag_is_parsed(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(DeltaRequestError, match=message):
        DeltaReportOperator(**{"task_id": "judge", "report_uri": "/reports/nightly.json", **arguments})


def test_a_location_that_is_not_allowed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__DELTA_PROVIDER__ALLOWED_LOCATIONS", "s3://lake")
    with pytest.raises(DeltaRequestError, match="report_uri"):
        Judged(written(tmp_path, report())).execute()


def test_tables_of_unity_catalog_have_events_of_the_assets_of_databricks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_DBX", '{"conn_type": "databricks", "host": "https://adb-1.azuredatabricks.net/"}')
    made = report(finding())
    made = replace(made, tables=tuple(replace(table, table="main.sales.orders") for table in made.tables))
    judged = Judged(
        written(tmp_path, made), databricks_conn_id="dbx", on_violation="warn", outlets=[AssetAlias("tables")]
    )
    judged.context["outlet_events"] = OutletEventAccessors()
    judged.execute()
    (event,) = judged.context["outlet_events"][AssetAlias("tables")].asset_alias_events
    assert event.dest_asset_key.uri == "databricks://adb-1.azuredatabricks.net/main/sales/orders"
