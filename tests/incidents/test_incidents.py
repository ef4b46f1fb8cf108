"""An incident for each open finding: opened once, resolved once, by the owner's route, whenever the process dies."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from airflow.providers.common.compat.sdk import Context

from airflow_delta_provider.domain.report.report import (
    Finding,
    JobReport,
    ReportPlace,
    Severity,
    TableReport,
    Verdict,
    Waiver,
)
from airflow_delta_provider.exceptions import DeltaAlertError, DeltaRequestError
from airflow_delta_provider.notifications.incident_targets import (
    IncidentTarget,
    JiraIncidents,
    OpsgenieIncidents,
    PagerDutyIncidents,
)
from airflow_delta_provider.notifications.incidents import DeltaIncidentNotifier
from airflow_delta_provider.notifications.memory import StateFile
from airflow_delta_provider.report_store import KeptReport
from tests.incidents.services import Services, served

pytestmark = pytest.mark.soak
EXAMPLE = "open_incidents"
TARGETS: dict[str, IncidentTarget] = {
    "pagerduty": PagerDutyIncidents("pd", routes={"sales": "pd_sales"}),
    "opsgenie": OpsgenieIncidents("og", routes={"sales": "Sales team"}),
    "jira": JiraIncidents("DATA", "jira", routes={"sales": "SALES"}),
}
ONE = Finding(
    "AC08", Severity.ERROR, "Files have no partition values.", version=3, fingerprint="f1", writer="delta-rs 0.17"
)
TWO = Finding("RT05", Severity.ERROR, "Row ids are given twice.", version=7, fingerprint="f2")


@pytest.fixture
def services(monkeypatch: pytest.MonkeyPatch) -> Iterator[Services]:
    import pagerduty

    with served() as (address, state):
        # The client insists on https.
        monkeypatch.setattr(pagerduty.EventsApiV2Client, "url", property(lambda _: address, lambda *_: None))
        for name, connection in {
            "PD": {"conn_type": "pagerduty_events", "password": "key-of-platform"},
            "PD_SALES": {"conn_type": "pagerduty_events", "password": "key-of-sales"},
            "OG": {"conn_type": "opsgenie", "host": address, "password": "genie"},
            "JIRA": {"conn_type": "jira", "host": address, "login": "bot", "password": "token"},
        }.items():
            monkeypatch.setenv(f"AIRFLOW_CONN_{name}", json.dumps(connection))
        yield state


def reported(*findings: Finding, owner: str | None = "sales", verdict: Verdict | None = None) -> TableReport:
    evidence = {} if owner is None else {"owner": owner}
    found = TableReport.of_findings("s3://lake/orders", *findings, version=9, evidence=evidence)
    return found if verdict is None else replace(found, verdict=verdict)


def call(notifier: DeltaIncidentNotifier, *tables: TableReport) -> None:
    report = JobReport("audit", "2026-11-01T06:00:00.000+00:00", "2026-11-01T06:01:00.000+00:00", tables, {})
    instance = SimpleNamespace(
        dag_id="nightly",
        task_id="audit",
        run_id="r1",
        map_index=-1,
        try_number=1,
        state="success",
        log_url="http://log",
    )
    task = SimpleNamespace(kept_report=KeptReport(report, ReportPlace(None, "not kept")))
    notifier.notify(cast("Context", {"ti": instance, "task": task}))


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> IncidentTarget:
    return TARGETS[request.param]


@pytest.fixture
def notifier(target: IncidentTarget, tmp_path: Path) -> DeltaIncidentNotifier:
    return DeltaIncidentNotifier(targets=[target], state_path=str(tmp_path / "incidents.json"))


def state(services: Services) -> tuple[int, int]:
    """Return the numbers of open and of resolved incidents."""
    still = sum(record.is_open for record in services.records)
    return still, len(services.records) - still


def test_incident_opens_once_and_ends_with_its_finding(notifier: DeltaIncidentNotifier, services: Services) -> None:
    for _ in range(3):
        call(notifier, reported(ONE, TWO))
    assert state(services) == (2, 0)
    assert {record.calls for record in services.records} == {1}

    call(notifier, reported(replace(ONE, healed_version=8), TWO))
    assert state(services) == (1, 1)
    for _ in range(2):
        call(notifier, reported())
    assert state(services) == (0, 2)
    assert len(services.resolved) == len(set(services.resolved)) == 2

    call(notifier, reported(ONE))
    assert state(services) == (1, 2)


def test_incident_says_what_is_wrong_and_goes_to_the_owner(services: Services, tmp_path: Path) -> None:
    both = DeltaIncidentNotifier(targets=[*TARGETS.values()], state_path=str(tmp_path / "incidents.json"))
    call(both, reported(ONE))
    call(both, reported(ONE), replace(reported(TWO, owner=None), table="s3://lake/stock"))

    pagerduty, opsgenie, jira, *others = services.records
    assert pagerduty.service == "key-of-sales"
    payload = pagerduty.content["payload"]
    assert (payload["source"], payload["group"], payload["class"], payload["severity"]) == (
        "s3://lake/orders",
        "sales",
        "AC08",
        "error",
    )
    assert payload["summary"].startswith("AC08 ")
    assert "Files have no partition values." in payload["custom_details"]["message"]
    assert payload["custom_details"]["engine"] == "delta-rs 0.17"
    assert opsgenie.content["responders"] == [{"name": "Sales team", "type": "team"}]
    assert jira.content["project"] == {"key": "SALES"}
    assert "http://log" in jira.content["description"]
    assert len({record.key for record in (pagerduty, opsgenie, jira)}) == 1
    assert [other.service for other in others] == ["key-of-platform", "opsgenie", "jira"]
    assert "responders" not in others[1].content
    assert others[2].content["project"] == {"key": "DATA"}


def test_thousand_findings_open_the_worst_first_and_fit(services: Services, tmp_path: Path) -> None:
    notifier = DeltaIncidentNotifier(
        targets=[TARGETS["opsgenie"]], state_path=str(tmp_path / "incidents.json"), severities=["ERROR", "WARNING"]
    )
    long = " ".join(f"Sentence {number}." for number in range(5000))
    severities = (Severity.WARNING, Severity.ERROR)
    findings = [
        Finding("AC08", severities[n % 2], long, version=n, fingerprint=f"f{n}", path=long, user=long)
        for n in range(1000)
    ]
    call(notifier, reported(*findings))
    assert state(services) == (1000, 0)
    opened = [record.content for record in services.records]
    assert [content["priority"] for content in opened] == ["P2"] * 500 + ["P4"] * 500
    for content in opened:
        assert len(content["message"]) <= 130
        assert len(content["description"]) <= 15_000
        assert "http://log" in content["description"]
        assert re.search(r"Sentence \d+\. …\n", content["description"])
        assert sum(len(key) + len(value) for key, value in content["details"].items()) <= 8000


def test_owner_that_changed_does_not_leave_the_incident_open(services: Services, tmp_path: Path) -> None:
    notifier = DeltaIncidentNotifier(targets=[TARGETS["pagerduty"]], state_path=str(tmp_path / "s.json"))
    call(notifier, reported(ONE))
    call(notifier, reported(owner=None))
    assert state(services) == (0, 1)


@pytest.mark.parametrize("verdict", [Verdict.FAULT, Verdict.UNDETERMINED, Verdict.REFUSED])
def test_table_that_could_not_be_checked_keeps_its_incidents(
    verdict: Verdict, notifier: DeltaIncidentNotifier, services: Services
) -> None:
    call(notifier, reported(ONE))
    call(notifier, reported(verdict=verdict))
    assert state(services) == (1, 0)


def test_waiver_and_severity_decide(notifier: DeltaIncidentNotifier, services: Services) -> None:
    call(notifier, reported(replace(TWO, severity=Severity.WARNING)))
    assert state(services) == (0, 0)
    call(notifier, reported(ONE))
    call(notifier, reported(replace(ONE, waiver=Waiver("ann", "known", "2999-01-01"))))
    assert state(services) == (0, 1)


def test_call_that_fails_is_repeated_and_others_are_made(services: Services, tmp_path: Path) -> None:
    notifier = DeltaIncidentNotifier(
        targets=[TARGETS["opsgenie"], TARGETS["jira"]], state_path=str(tmp_path / "incidents.json")
    )
    services.down = {"/v2/alerts"}
    with pytest.raises(DeltaAlertError):
        call(notifier, reported(ONE))
    assert [record.service for record in services.records] == ["jira"]

    services.down = {"/close"}
    call(notifier, reported(ONE))
    assert sorted(record.service for record in services.records) == ["jira", "opsgenie"]
    with pytest.raises(DeltaAlertError):
        call(notifier, reported())
    services.down = set()
    call(notifier, reported())
    assert state(services) == (0, 2)


class Killed:
    """Ends the process at a step: before or after a call of a target, or a write of the notes."""

    def __init__(self, step: int) -> None:
        self._left = step

    def __call__(self) -> None:
        if self._left == 0:
            os._exit(9)
        self._left -= 1


def _dies(notifier: DeltaIncidentNotifier, step: int, *findings: Finding) -> bool:
    """Call the notifier in a process that dies at a step; return False if it has no such step."""
    child = os.fork()
    if child == 0:
        try:
            kill = Killed(step)
            for owner, name in (
                (StateFile, "apply"),
                *((type(t), name) for t in notifier.targets for name in ("open", "resolve")),
            ):
                original: Any = getattr(owner, name)

                def stepped(*arguments: Any, _original: Any = original) -> Any:
                    kill()
                    result = _original(*arguments)
                    kill()
                    return result

                setattr(owner, name, stepped)
            call(notifier, reported(*findings))
            os._exit(0)
        finally:
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, 9)
    return code == 9


#: Steps of a run with two findings: before and after two writes and two calls.
STEPS = range(8)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("healed", [False, True])
def test_kill_while_incidents_open(
    step: int, healed: bool, notifier: DeltaIncidentNotifier, services: Services
) -> None:
    assert _dies(notifier, step, ONE, TWO)
    if not healed:
        call(notifier, reported(ONE, TWO))
        assert state(services) == (2, 0)
    call(notifier, reported())
    assert state(services)[0] == 0
    assert len(services.resolved) == len(set(services.resolved)) == len(services.records)


@pytest.mark.parametrize("step", STEPS)
def test_kill_while_incidents_end(step: int, notifier: DeltaIncidentNotifier, services: Services) -> None:
    call(notifier, reported(ONE, TWO))
    assert _dies(notifier, step)
    call(notifier, reported())
    assert state(services) == (0, 2)
    assert len(services.resolved) == len(set(services.resolved)) == 2


def test_run_has_no_more_steps_than_were_tried(notifier: DeltaIncidentNotifier, services: Services) -> None:
    assert not _dies(notifier, len(STEPS), ONE, TWO)


def test_bad_arguments_are_named(tmp_path: Path) -> None:
    with pytest.raises(DeltaRequestError, match="targets has to be a list"):
        DeltaIncidentNotifier(targets=[], state_path="/s.json")
    with pytest.raises(DeltaRequestError, match="Give each a name of its own"):
        DeltaIncidentNotifier(targets=[JiraIncidents("A"), JiraIncidents("B")], state_path="/s.json")


def test_example_dag_opens_and_resolves_by_the_route_of_the_owner(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import runpy

    from tests.unit.command_line.tables import damaged

    monkeypatch.setenv("AIRFLOW_CONN_PAGERDUTY_SALES", os.environ["AIRFLOW_CONN_PD_SALES"])
    example = runpy.run_path(str(Path(__file__).parents[2] / "dags_examples" / f"{EXAMPLE}.py"))
    notifier = replace_path(example["incidents"], tmp_path / "s.json")
    damaged(tmp_path / "orders", "AC08")
    from airflow_delta_provider.api import audit

    report = audit(str(tmp_path / "orders"), ownership=[{"table": "*", "owner": "sales"}])
    call(notifier, *report.tables)
    call(notifier, replace(report.tables[0], findings=(), verdict=Verdict.PASS))
    assert [(record.service, record.is_open) for record in services.records] == [("key-of-sales", False)]


def replace_path(notifier: DeltaIncidentNotifier, path: Path) -> DeltaIncidentNotifier:
    return DeltaIncidentNotifier(targets=notifier.targets, state_path=str(path))
