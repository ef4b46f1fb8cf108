"""Alerts of DAGs that are run: a fake Spark, everything else is Airflow's own, and mails that arrive."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_delta_provider.domain.report.report import Finding, JobReport, Severity, Status, TableReport
from demo.airflow_home import AirflowHome, DagRunner
from tests.airflow.fake_spark_submit import FakeSparkSubmit
from tests.airflow.reports import NOW, ORDERS, RETURNS, finding, report
from tests.airflow.smtp_server import Mail, SmtpServer, smtp_server

_DAGS = Path(__file__).parent / "alert_dags"


class Tables:
    """What the next job says of the tables, and what comes of it."""

    def __init__(self, folder: Path, runner: DagRunner, server: SmtpServer) -> None:
        self._folder = folder
        self._runner = runner
        self._server = server

    def say(self, *findings: Finding, **known: Any) -> None:
        """Give the findings to the first table; the second one passes."""
        document = report(*findings, others=(TableReport.of_findings(RETURNS, version=3),), **known)
        (self._folder / "report.json").write_text(json.dumps(document.to_json()))

    def run(self, dag_id: str) -> tuple[list[str], list[Mail]]:
        """Run a DAG; return the states of its tasks, and the mails that arrived."""
        before = len(self._server.mails)
        outcomes = self._runner.start(dag_id).outcomes()
        states = [outcome.state for mapped in outcomes.values() for outcome in mapped]
        return states, self._server.mails[before:]

    def events(self) -> list[dict[str, Any]]:
        """Run the DAG with asset events; return those that were added, as URI and extra."""
        before = self._recorded()
        self.run("events")
        return self._recorded()[len(before) :]

    def requests(self, number: int) -> list[dict[str, Any]]:
        """Return what the last jobs were asked for."""
        return [json.loads(line) for line in (self._folder / "requests.jsonl").read_text().splitlines()[-number:]]

    def _recorded(self) -> list[dict[str, Any]]:
        import sqlite3

        with sqlite3.connect(self._folder / "home" / "airflow.db") as connection:
            rows = connection.execute(
                "SELECT asset.uri, asset_event.extra FROM asset_event JOIN asset ON asset.id = asset_event.asset_id"
                " ORDER BY asset_event.id"
            )
            return [{"uri": uri, **json.loads(extra)} for uri, extra in rows]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tables]:
    """Tables that a fake job reports on, in an Airflow of their own with a mail server."""
    folder = tmp_path_factory.mktemp("alerts")
    (folder / "logs").mkdir()
    with pytest.MonkeyPatch.context() as patch, smtp_server() as server:
        # A report for every table that is asked for, from the file.
        FakeSparkSubmit(folder, patch).does(
            f"document = json.load(open({str(folder / 'report.json')!r}))\n"
            "document['tables'] = [t for t in document['tables'] if t['table'] in request['tables']]\n"
            f"with open({str(folder / 'requests.jsonl')!r}, 'a') as requests:\n"
            "    print(json.dumps(request), file=requests)\n"
            "for t in document['tables']:\n"
            "    t['receipt'] = request['receipt']\n"
            f"waited = os.path.exists({str(folder / 'waited')!r})\n"
            "for t in document['tables']:  # what had to wait is done in the second run\n"
            "    if t['earliest']:\n"
            f"        open({str(folder / 'waited')!r}, 'w').close()\n"
            "        t.update({'verdict': 'PASS', 'earliest': None} if waited else {})\n"
            "send('report', document)"
        )
        home = AirflowHome(folder / "home", _DAGS, folder / "jars", folder / "logs")
        home.environment["PATH"] = os.environ["PATH"]  # the fake before the real one
        home.environment["ALERT_STATE"] = str(folder / "state")
        home.environment["AIRFLOW_CONN_SMTP_DEFAULT"] = json.dumps(
            {
                "conn_type": "smtp",
                "host": "127.0.0.1",
                "port": server.port,
                "extra": {"disable_tls": True, "disable_ssl": True},
            }
        )
        home.finish_migration(home.start_migration())
        with home.runner() as runner:
            yield Tables(folder, runner, server)


def test_mail_tells_a_violation_once_and_then_that_it_is_resolved(tables: Tables) -> None:
    broken = finding("RT08", message="Ids <overlap> & {{ 7 * 7 }}.\nRESTORE it.")
    tables.say(broken, finding("RT05", healed_version=8))
    states, (mail,) = tables.run("alerts")
    assert states == ["failed"]
    assert mail.recipients == ("owners@example.com",)
    assert mail.subject == "Delta VIOLATED: 1 new in alerts.check"
    for said in ("RT08", ORDERS, ">7<", "Delta Spark 4.4.0", "Ids &lt;overlap&gt; &amp; {{ 7 * 7 }}.<br>RESTORE it."):
        assert said in mail.html
    assert "ERROR RT05" not in mail.html  # it is fixed: in the timeline alone

    assert tables.run("alerts") == (["failed"], [])

    tables.say(finding("RT08", status=Status.RESOLVED))
    states, (mail,) = tables.run("alerts")
    assert states == ["success"]
    assert mail.subject == "Delta PASS: 1 resolved in alerts.check"

    assert tables.run("alerts") == (["success"], [])


@pytest.mark.parametrize(("dag_id", "state"), [("audit_that_fails", "failed"), ("audit_that_warns", "success")])
def test_next_audit_is_told_of_which_reports_people_were_told(tables: Tables, dag_id: str, state: str) -> None:
    tables.say(finding("RT08"))
    for _ in range(2):
        states, mails = tables.run(dag_id)
        assert (states, [mail.subject for mail in mails]) == ([state], [f"Delta VIOLATED: 1 new in {dag_id}.audit"])
    first, second = tables.requests(2)
    assert (first["received"], second["received"]) == ({}, {first["receipt"]: None})


def test_every_mapped_task_tells_its_own_table_by_the_same_notifier(tables: Tables) -> None:
    others = (TableReport.of_findings(RETURNS, finding("RT05")),)
    document = JobReport.to_json(report(finding("RT08"), others=others))
    (tables._folder / "report.json").write_text(json.dumps(document))
    states, mails = tables.run("mapped_alerts")
    assert states == ["failed", "failed"]
    mails = sorted(mails, key=lambda mail: mail.subject)  # the tasks run in any order
    assert [mail.subject for mail in mails] == [
        "Delta VIOLATED: 1 new in mapped_alerts.check[0]",
        "Delta VIOLATED: 1 new in mapped_alerts.check[1]",
    ]
    assert ["RT08" in mail.html for mail in mails] == [True, False]


def test_task_that_fails_without_a_report_is_told_as_such(tables: Tables) -> None:
    states, (mail,) = tables.run("broken_task")
    assert states == ["failed"]
    assert mail.subject == "Delta NO REPORT: the task failed in broken_task.crash"
    assert "No report exists: the state of the tables is unknown. MemoryError: &lt;all of it&gt;" in mail.html


def test_event_is_emitted_for_the_violated_table_only(tables: Tables) -> None:
    tables.say(
        finding("RT08"), finding("RT05"), finding("RT08", fingerprint="another"), finding("RT01", healed_version=8)
    )
    assert tables.events() == [
        {
            "uri": f"file://{ORDERS}",
            "kind": "check-row-tracking",
            "verdict": "VIOLATED",
            "version": 9,
            "changed": False,
            "codes": ["RT08", "RT05"],
            "resolved": [],
        }
    ]


def test_event_is_emitted_for_a_table_that_was_resolved_or_changed(tables: Tables) -> None:
    tables.say(finding("RT08", status=Status.RESOLVED))
    (event,) = tables.events()
    assert (event["verdict"], event["codes"], event["resolved"]) == ("PASS", [], ["RT08"])
    tables.say(changed=True)
    (event,) = tables.events()
    assert (event["verdict"], event["changed"]) == ("PASS", True)


def test_no_event_is_emitted_where_nothing_happened(tables: Tables) -> None:
    tables.say()
    assert tables.events() == []


def test_failed_task_emits_no_event(tables: Tables) -> None:
    before = tables._recorded()
    tables.say(finding("RT08", fingerprint="unheard of"))
    assert tables.run("alerts")[0] == ["failed"]
    assert tables._recorded() == before


def test_task_that_has_to_wait_is_deferred_and_ends_with_all_tables(tables: Tables) -> None:
    tables.say(finding("TF24", Severity.UNDECIDED, earliest=NOW), earliest=NOW)
    (outcome,) = tables._runner.start("drop_feature").outcomes()["drop"]
    assert outcome.state == "success"
    summary = outcome.xcoms["return_value"]
    assert summary["verdict"] == "PASS"
    assert [row["table"] for row in summary["tables"]] == [ORDERS, RETURNS]
    assert not any("earliest" in row for row in summary["tables"])
