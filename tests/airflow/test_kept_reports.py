"""Reports that are kept whole: of 120 violated tables, none is lost, wherever the report is looked for."""

from __future__ import annotations

import gzip
import json
import logging
import time
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from airflow.providers.common.compat.sdk import TaskInstanceState
from airflow.providers.smtp.notifications.smtp import SmtpNotifier
from airflow.sdk import DAG

from airflow_delta_provider import configuration, report_store
from airflow_delta_provider.domain.report.report import JobReport
from airflow_delta_provider.exceptions import (
    DeltaReportUnavailableError,
    DeltaRequestError,
    DeltaViolationError,
)
from airflow_delta_provider.links.report import DeltaReportLink
from airflow_delta_provider.notifications.violation import DeltaViolationNotifier
from airflow_delta_provider.operators.check_row_tracking import DeltaCheckRowTrackingOperator
from airflow_delta_provider.operators.enable_feature import DeltaEnableFeatureOperator
from airflow_delta_provider.xcom import all_findings, tables_with, violated_tables, whole_report
from tests.airflow.fake_spark_submit import FakeSparkSubmit, spark_submit
from tests.airflow.smtp_server import smtp_server
from tests.unit.report_contract import violations

__all__ = ["spark_submit"]

TABLES = [f"/lake/sales/orders_of_region_{n:03d}" for n in range(120)]
#: Every table breaks a rule, in its own words; the second night all of it is known.
_VIOLATED = """
from airflow_delta_provider.domain.report.report import Finding, Status
from airflow_delta_provider.domain.report.report import Severity
import datetime
now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
tables = tuple(
    TableReport.of_findings(t, Finding(
        "RT15", Severity.ERROR, f"Row ids up to {n} were assigned before. " + "RESTORE it. " * 30, version=n,
        fingerprint=f"print of {n}", status=Status(STATUS), operation="MERGE", action="{" + "a" * 300,
    ), version=n)
    for n, t in enumerate(request["tables"])
)
send("report", JobReport(request["kind"], now, now, tables, {"spark": "4.2.0", "delta": "4.4.0"}).to_json())
"""


class Night:
    """One run of a task over all tables, and its callback, in the worker's process or in another one."""

    def __init__(self, spark: FakeSparkSubmit, status: str = "NEW", **arguments: Any) -> None:
        spark.does(_VIOLATED.replace("STATUS", repr(status)))
        self.pushed: dict[str, Any] = {}
        self.operator = DeltaCheckRowTrackingOperator(
            **{
                "task_id": "audit",
                "tables": TABLES,
                "delta_jars": "provided",
                "on_violation": "warn",
                "dag": DAG("nightly", schedule=None, start_date=datetime(2026, 1, 1, tzinfo=timezone.utc)),
                **arguments,
            }
        )
        self.instance = SimpleNamespace(
            dag_id="nightly",
            task_id="audit",
            run_id="scheduled__2026-01-01T00:00:00+00:00",
            map_index=-1,
            try_number=2,
            max_tries=3,
            state=TaskInstanceState.SUCCESS,
            log_url="http://airflow/dags/nightly/runs/r/tasks/audit?try_number=2",
            xcom_push=lambda key, value: self.pushed.update({key: json.loads(json.dumps(value))}),
            xcom_pull=lambda key, map_indexes: self.pushed.get(key),
        )
        self.context: Any = {"ti": self.instance, "task": self.operator}

    def run(self) -> dict[str, Any]:
        return self.operator.execute(self.context)

    @property
    def after_the_worker_died(self) -> Any:
        """The context of a callback that the DAG processor calls: the operator as it is parsed, no exception."""
        again = DeltaCheckRowTrackingOperator(
            task_id="audit", tables=TABLES, report_path=self.operator.report_path, do_xcom_push=False
        )
        return {"ti": SimpleNamespace(**{**vars(self.instance), "state": None}), "task": again}


class Told:
    """A notifier that keeps what it is told."""

    def __init__(self) -> None:
        self.alerts: list[Any] = []

    def __call__(self, context: Any) -> None:
        self.alerts.append(context["delta"])

    @property
    def tables(self) -> list[int]:
        """How many tables each alert names, in text."""
        return [sum(table in alert.text for table in TABLES) for alert in self.alerts]


@pytest.fixture
def reports(tmp_path: Path) -> str:
    return str(tmp_path / "reports")


def test_report_of_a_fleet_is_kept_whole_and_its_place_is_in_xcom(spark_submit: FakeSparkSubmit, reports: str) -> None:
    night = Night(spark_submit, report_path=reports)
    summary = night.run()
    path = f"{reports}/dag_id=nightly/run_id=scheduled__2026-01-01T00:00:00+00:00/task_id=audit/attempt=2.json"
    assert summary["report_path"] == night.pushed["return_value"]["report_path"] == path
    document = json.loads(Path(path).read_text())
    assert violations(document) == []
    assert [table["table"] for table in document["tables"]] == TABLES
    assert whole_report(summary) == document
    found = night.pushed["findings"]
    assert found["omitted"] == 120 - len(found["findings"]) > 0
    assert found["report_path"] == path


def test_mapped_tasks_get_all_tables(spark_submit: FakeSparkSubmit, reports: str) -> None:
    night = Night(spark_submit, report_path=reports)
    night.run()
    assert len(night.pushed["return_value"]["tables"]) == 100
    assert violated_tables(night.pushed["return_value"]) == TABLES
    assert tables_with(night.pushed["return_value"], "PASS") == []
    assert [found["table"] for found in all_findings(night.pushed["findings"])] == TABLES


def test_report_is_kept_beside_the_logs_by_default(spark_submit: FakeSparkSubmit) -> None:
    night = Night(spark_submit)
    (folder,) = configuration.report_folders()
    assert night.run()["report_path"].startswith(f"{folder}/dag_id=nightly/")
    assert violated_tables(night.pushed["return_value"]) == TABLES


@pytest.mark.parametrize(
    ("settings", "folders"),
    [
        ({"LOGGING__REMOTE_BASE_LOG_FOLDER": "s3://logs/airflow/"}, ["/var/logs/delta_reports"]),
        (
            {"LOGGING__REMOTE_BASE_LOG_FOLDER": "s3://logs/airflow/", "LOGGING__REMOTE_LOGGING": "True"},
            ["s3://logs/airflow/delta_reports", "/var/logs/delta_reports"],
        ),
        (
            {
                "LOGGING__REMOTE_BASE_LOG_FOLDER": "gs://logs",
                "LOGGING__REMOTE_LOGGING": "True",
                "LOGGING__REMOTE_LOG_CONN_ID": "gcp",
            },
            ["gs://gcp@logs/delta_reports", "/var/logs/delta_reports"],
        ),
        (
            {"LOGGING__REMOTE_BASE_LOG_FOLDER": "cloudwatch://arn:aws:x", "LOGGING__REMOTE_LOGGING": "True"},
            ["/var/logs/delta_reports"],
        ),
        ({"DELTA_PROVIDER__REPORT_PATH": "s3://aws@ops/r"}, ["s3://aws@ops/r"]),
    ],
)
def test_place_of_reports_follows_the_settings_of_logs(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], folders: list[str]
) -> None:
    for name, value in {"LOGGING__BASE_LOG_FOLDER": "/var/logs", **settings}.items():
        monkeypatch.setenv(f"AIRFLOW__{name}", value)
    assert list(configuration.report_folders()) == folders


def test_default_place_that_has_no_filesystem_here_is_passed_over(
    spark_submit: FakeSparkSubmit, reports: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "airflow_delta_provider.operators.reporting.report_folders", lambda _: ("nowhere://logs/x", reports)
    )
    assert Night(spark_submit).run()["report_path"].startswith(reports)


@pytest.mark.parametrize("prefix", ["file://", "file:", "local://"])
def test_report_path_may_be_a_uri(spark_submit: FakeSparkSubmit, reports: str, prefix: str) -> None:
    night = Night(spark_submit, report_path=f"{prefix}{reports}")
    assert night.run()["report_path"].startswith(f"{prefix}{reports}/dag_id=nightly/")
    assert list(Path(reports).rglob("attempt=2.json"))
    assert violated_tables(night.pushed["return_value"]) == TABLES


def test_large_report_is_compressed(
    spark_submit: FakeSparkSubmit, reports: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_store, "COMPRESSED_FROM", 1000)
    night = Night(spark_submit, report_path=reports)
    path = night.run()["report_path"]
    assert path.endswith("attempt=2.json.gz")
    assert violations(json.loads(gzip.decompress(Path(path).read_bytes()))) == []
    assert violated_tables(night.pushed["return_value"]) == TABLES


@pytest.mark.parametrize("pushes", [True, False])
@pytest.mark.parametrize("policy", ["warn", "fail", "skip"])
def test_alert_names_every_table_whatever_is_pushed(
    spark_submit: FakeSparkSubmit, reports: str, policy: str, pushes: bool
) -> None:
    night, told = Night(spark_submit, report_path=reports, on_violation=policy, do_xcom_push=pushes), Told()
    try:
        night.run()
    except Exception as error:
        night.context["exception"] = error if isinstance(error, DeltaViolationError) else None
    night.instance.state = {"warn": "success", "fail": "failed", "skip": "skipped"}[policy]
    DeltaViolationNotifier(notifiers=[told])(night.context)
    assert bool(night.pushed) == pushes
    assert told.alerts[0].subject == "Delta VIOLATED: 120 new in nightly.audit"
    assert told.tables == [120]
    assert f"The whole report: {reports}" in told.alerts[0].text


@pytest.mark.parametrize("pushes", [True, False])
def test_alert_of_a_worker_that_died_names_every_table(
    spark_submit: FakeSparkSubmit, reports: str, pushes: bool
) -> None:
    night, told = Night(spark_submit, report_path=f"{reports}/{{{{ ti.dag_id }}}}", do_xcom_push=pushes), Told()
    night.operator.report_path = f"{reports}/nightly"  # as Airflow renders it before it runs the task
    night.run()
    DeltaViolationNotifier(notifiers=[told])(night.after_the_worker_died)
    assert told.tables == [120]
    assert "The worker died" in told.alerts[0].text


def test_alert_of_a_worker_that_died_has_no_report_of_another_try(spark_submit: FakeSparkSubmit, reports: str) -> None:
    night, told = Night(spark_submit, report_path=reports, do_xcom_push=False), Told()
    night.run()
    night.instance.try_number = 3
    DeltaViolationNotifier(notifiers=[told])(night.after_the_worker_died)
    assert "No report exists" in told.alerts[0].text


def test_mail_names_every_table_and_the_next_night_has_nothing_new(
    spark_submit: FakeSparkSubmit, reports: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with smtp_server() as server:
        connection = {"conn_type": "smtp", "host": "127.0.0.1", "port": server.port}
        extra = {"disable_tls": True, "disable_ssl": True}
        monkeypatch.setenv("AIRFLOW_CONN_SMTP_DEFAULT", json.dumps({**connection, "extra": extra}))
        mail = SmtpNotifier(to="a@x", from_email="b@x", subject="{{ delta.subject }}", html_content="{{ delta.html }}")
        for status in ("NEW", "KNOWN"):
            night = Night(spark_submit, status, report_path=reports)
            night.run()
            notifier = DeltaViolationNotifier(notifiers=[mail], state_path=str(tmp_path / "state.json"))
            notifier({**night.context, "dag": night.operator.dag})
    (mail_of_first_night,) = server.mails
    assert mail_of_first_night.subject == "Delta VIOLATED: 120 new in nightly.audit"
    assert sum(table in mail_of_first_night.html for table in TABLES) == 120
    assert mail_of_first_night.html.count("<h3") == 1


def unreachable(tmp_path: Path) -> str:
    file = tmp_path / "file"
    file.touch()
    return str(file / "reports")


def test_alert_needs_neither_xcom_nor_a_kept_report(spark_submit: FakeSparkSubmit, tmp_path: Path) -> None:
    night, told = Night(spark_submit, report_path=unreachable(tmp_path), do_xcom_push=False), Told()
    night.run()
    DeltaViolationNotifier(notifiers=[told])(night.context)
    assert (night.pushed, told.tables) == ({}, [120])


@pytest.mark.parametrize("policy", ["warn", "fail"])
def test_report_that_cannot_be_kept_changes_no_result_and_is_said_everywhere(
    spark_submit: FakeSparkSubmit, tmp_path: Path, policy: str, caplog: pytest.LogCaptureFixture
) -> None:
    night, told = Night(spark_submit, report_path=unreachable(tmp_path), on_violation=policy), Told()
    says = "The whole report could not be kept ("
    with caplog.at_level(logging.INFO):
        if policy == "fail":
            with pytest.raises(DeltaViolationError, match="NotADirectoryError") as caught:
                night.run()
            night.context["exception"] = caught.value
            assert says in str(caught.value)
            assert all(table in str(caught.value) for table in TABLES)
        else:
            assert night.run()["verdict"] == "VIOLATED"
    summary = night.pushed["return_value"]
    assert summary["report_path"] is None
    assert "NotADirectoryError" in summary["report_error"]
    assert "NotADirectoryError" in night.pushed["findings"]["report_error"]
    with pytest.raises(DeltaReportUnavailableError, match=r"100 of the 120 tables .* 20 are missing.*NotADirectory"):
        violated_tables(summary)
    with pytest.raises(DeltaReportUnavailableError, match=r"^\d+ findings are missing.*NotADirectory"):
        all_findings(night.pushed["findings"])
    DeltaViolationNotifier(notifiers=[told])(night.context)
    assert told.tables == [120]
    assert says in told.alerts[0].text


def test_what_is_cut_and_kept_nowhere_is_said_and_is_news_the_next_night(
    spark_submit: FakeSparkSubmit, tmp_path: Path
) -> None:
    night, told = Night(spark_submit, report_path=unreachable(tmp_path)), Told()
    notifier = DeltaViolationNotifier(notifiers=[told], state_path=str(tmp_path / "state.json"))
    night.run()
    notifier(night.after_the_worker_died)
    (first,) = told.tables
    assert 0 < first < 120
    assert f"{120 - first} cut off" in told.alerts[0].subject
    assert f"This alert lacks {120 - first} findings" in told.alerts[0].text
    again = Night(spark_submit, report_path=str(tmp_path / "reports"))
    again.run()
    notifier(again.context)
    assert f"{120 - first} new" in told.alerts[1].subject
    assert {table for table in TABLES for alert in told.alerts if table in alert.text} == set(TABLES)


def test_report_on_the_disk_of_another_worker_is_asked_for_in_vain_and_says_so(
    spark_submit: FakeSparkSubmit, reports: str
) -> None:
    night = Night(spark_submit, report_path=reports)
    Path(night.run()["report_path"]).unlink()
    with pytest.raises(DeltaReportUnavailableError, match=r"20 are missing.*another worker.*all workers reach"):
        violated_tables(night.pushed["return_value"])


def test_store_that_hangs_does_not_keep_the_task(
    spark_submit: FakeSparkSubmit, reports: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_store, "MAX_SECONDS", 0.2)
    monkeypatch.setattr(report_store, "_write", lambda *_: time.sleep(5))
    summary = Night(spark_submit, report_path=reports).run()
    assert (summary["verdict"], summary["report_path"]) == ("VIOLATED", None)
    assert "TimeoutError: no answer within 0.2 s" in summary["report_error"]


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("reports", "relative to the folder"),
        ("s3://ann:secret@lake/r", "holds a password"),
        ("", "has to be a path or a URI"),
        (5, "has to be a path or a URI"),
    ],
)
def test_path_that_cannot_be_meant_is_refused_at_construction(path: Any, says: str) -> None:
    with pytest.raises(DeltaRequestError, match=says):
        DeltaCheckRowTrackingOperator(task_id="t", table="/t", report_path=path)


def test_path_that_is_rendered_to_nonsense_is_refused_before_anything_runs(spark_submit: FakeSparkSubmit) -> None:
    night = Night(spark_submit, report_path="{{ params.folder }}")
    night.operator.report_path = "reports"
    with pytest.raises(DeltaRequestError, match="relative to the folder"):
        night.run()
    assert spark_submit.calls == []


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/elsewhere/reports", "report_path"),
        ("s3://aws@other/reports", "report_path"),
        (f"{TABLES[3]}/_delta_log", "report_path"),
        ("s3://aws@ops/reports", None),
    ],
)
def test_path_outside_the_allowed_locations_or_inside_a_table_is_refused(
    monkeypatch: pytest.MonkeyPatch, spark_submit: FakeSparkSubmit, path: str, says: str | None
) -> None:
    monkeypatch.setenv("AIRFLOW__DELTA_PROVIDER__ALLOWED_LOCATIONS", "/lake,s3://ops")
    night = Night(spark_submit, report_path=path)
    if says is None:
        assert night.operator.request(night.context).tables == tuple(TABLES)
        return
    with pytest.raises(DeltaRequestError, match=says):
        night.operator.request(night.context)


def test_dry_run_has_its_plan_in_xcom(spark_submit: FakeSparkSubmit) -> None:
    plan = {"digest": "d", "commits": 1, "steps": [{"sql": "ALTER TABLE t", "explanation": "e"}], "notes": ["1 GB"]}
    spark_submit.does(
        f"tables = tuple(TableReport(t, Verdict.PASS, version=3, plan={plan!r}) for t in request['tables'])\n"
        "send('report', JobReport(request['kind'], 'a', 'b', tables, {}).to_json())"
    )
    summaries = []
    for dry_run in (True, False):
        night = Night(spark_submit)
        operator = DeltaEnableFeatureOperator(
            task_id="t", table="/t", features=["rowTracking"], dry_run=dry_run, delta_jars="provided"
        )
        spark_submit.does(
            f"tables = tuple(TableReport(t, Verdict.PASS, version=3, plan={plan!r}) for t in request['tables'])\n"
            "send('report', JobReport(request['kind'], 'a', 'b', tables, {}).to_json())"
        )
        summaries.append(operator.execute(night.context))
    planned, done = summaries
    assert planned["dry_run"]
    assert planned["tables"][0]["plan"] == plan
    assert "dry_run" not in done
    assert "plan" not in done["tables"][0]


@pytest.mark.parametrize(
    ("path", "address"),
    [
        ("s3://lake/a b/r=1.json", "https://console.aws.amazon.com/s3/object/lake?prefix=a%20b%2Fr%3D1.json"),
        ("s3://aws_default@lake/r.json", "https://console.aws.amazon.com/s3/object/lake?prefix=r.json"),
        ("s3://ceph@lake/r.json", "http://airflow/dags/nightly/runs/r/tasks/audit/xcom?try_number=2"),
        ("s3://gone@lake/r.json", "http://airflow/dags/nightly/runs/r/tasks/audit/xcom?try_number=2"),
        ("s3://minio@lake/r.json", "http://airflow/dags/nightly/runs/r/tasks/audit/xcom?try_number=2"),
        ("gs://g@lake/r.json", "https://console.cloud.google.com/storage/browser/_details/lake/r.json"),
        ("https://dav/r.json", "https://dav/r.json"),
        ("/var/logs/r.json", "http://airflow/dags/nightly/runs/r/tasks/audit/xcom?try_number=2"),
        (None, "http://airflow/dags/nightly/runs/r/tasks/audit/xcom?try_number=2"),
    ],
)
def test_link_leads_to_the_report_or_to_where_its_path_is(
    spark_submit: FakeSparkSubmit, monkeypatch: pytest.MonkeyPatch, path: str | None, address: str
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_AWS_DEFAULT", '{"conn_type": "aws"}')
    monkeypatch.setenv("AIRFLOW_CONN_MINIO", '{"conn_type": "aws", "extra": {"endpoint_url": "http://minio:9000"}}')
    service = {"service_config": {"s3": {"endpoint_url": "http://ceph"}}}
    monkeypatch.setenv("AIRFLOW_CONN_CEPH", json.dumps({"conn_type": "aws", "extra": service}))
    night = Night(spark_submit)
    report = JobReport("audit", "a", "b", (), {})
    night.operator.kept_report = report_store.KeptReport(report, report_store.ReportPlace(path, None if path else "no"))
    link = DeltaReportLink()
    assert link.get_link(night.operator, ti_key=cast("Any", night.instance)) == address


def test_link_without_xcoms_leads_to_the_log_and_without_a_report_nowhere(spark_submit: FakeSparkSubmit) -> None:
    night = Night(spark_submit, do_xcom_push=False)
    report, page, tables = (
        partial(link.get_link, night.operator, ti_key=cast("Any", night.instance))
        for link in night.operator.operator_extra_links
    )
    assert (report(), page()) == ("", "")
    night.run()
    assert (report(), page()) == (night.instance.log_url, "")
    assert tables().endswith("/delta-provider/tables")


def test_links_lead_to_the_pages_of_the_plugin(spark_submit: FakeSparkSubmit) -> None:
    night = Night(spark_submit)
    night.run()
    base = "https://airflow.example.com/team/dags/a"
    instance = SimpleNamespace(dag_id="a", run_id="manual__1+00:00", task_id="g.t", map_index=3)
    instance.log_url = f"{base}/runs/manual__1%2B00%3A00/tasks/g.t/mapped/3?try_number=1"
    _, page, tables = (link.get_link(night.operator, ti_key=instance) for link in night.operator.operator_extra_links)
    below = "https://airflow.example.com/team/delta-provider"
    assert page == f"{below}/dags/a/runs/manual__1%2B00%3A00/tasks/g.t?map_index=3"
    assert tables == f"{below}/tables"
    instance.log_url = ""
    assert [link.get_link(night.operator, ti_key=instance) for link in night.operator.operator_extra_links[1:]] == [
        "",
        "",
    ]


def test_what_there_was_no_room_for_is_not_remembered_as_told(
    spark_submit: FakeSparkSubmit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("airflow_delta_provider.notifications.alert.MAX_NAMED", 50)
    confirmed: list[Any] = []
    for path, expected in ((unreachable(tmp_path), 50), (str(tmp_path / "reports"), 120)):
        told = Told()
        notifier = DeltaViolationNotifier(notifiers=[told], state_path=str(tmp_path / f"{expected}.json"))
        night = Night(spark_submit, report_path=path, on_success_callback=notifier)
        night.run()
        monkeypatch.setattr(night.context["delta_delivery"], "confirm", confirmed.append)
        notifier(night.context)
        assert told.tables == [50]
        assert "and 70 more findings in 70 tables" in told.alerts[0].text
        again = Night(spark_submit, "KNOWN", report_path=path)
        again.run()
        notifier(again.context)
        assert [sum(alert.counts.values()) for alert in told.alerts] == [120, 70][: 1 + (expected == 50)]
    assert [None if only is None else sum(map(len, only.values())) for only in confirmed] == [50, None]
