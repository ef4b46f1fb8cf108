"""Through a real scheduler: each try of an audit is recorded once, and its finding has one incident."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from deltalake import DeltaTable

from tests.incidents.services import Services, served
from tests.system.airflow_services import AirflowServices, airflow_home, services_of
from tests.system.process_tree import wait_for
from tests.system.watched_table import BROKEN, WatchedTable, metadata

pytestmark = pytest.mark.soak
DAGS = Path(__file__).parent / "dags"


@contextmanager
def scheduled(folder: Path) -> Iterator[tuple[AirflowServices, Services]]:
    """Start an Airflow whose connections lead to a local server that stands for PagerDuty."""
    folder.mkdir()
    home = airflow_home(folder, DAGS.glob("*.py"))
    with served() as (address, state):
        home.environment["PAGERDUTY"] = address
        for name, key in {"PD": "key-of-platform", "PD_SALES": "key-of-sales"}.items():
            connection = {"conn_type": "pagerduty_events", "password": key}
            home.environment[f"AIRFLOW_CONN_{name}"] = json.dumps(connection)
        home.finish_migration(home.start_migration())
        with services_of(home) as services:
            yield services, state


def test_each_try_is_recorded_once_and_the_incident_ends_with_the_violation(tmp_path: Path) -> None:
    table = WatchedTable(tmp_path / "orders")
    table.create()
    table.write(metadata(properties=BROKEN))
    notified = tmp_path / "notified"

    def wait_for_notes(*attempts: int) -> None:
        text = "".join(f"{attempt}\n" for attempt in attempts)
        wait_for(lambda: notified.exists() and notified.read_text() == text, f"incidents of {attempts}", every=1)

    with scheduled(tmp_path / "airflow") as (services, pagerduty):
        run = services.trigger("recorded_audit", lake=str(tmp_path))
        run.wait_for_end()
        # The first try was killed; the second reported the violation, which no retry can fix.
        assert (run.state, run.tries("audit")) == ("failed", 2)
        wait_for_notes(2)
        assert [record.is_open for record in pagerduty.records] == [True]
        run.clear()
        run.wait_for_end()
        assert (run.state, run.tries("audit")) == ("failed", 3)
        wait_for_notes(2, 3)
        table.write(metadata())
        run.clear()
        run.wait_for_end()
        assert (run.state, run.tries("audit")) == ("success", 4)
        wait_for_notes(2, 3, 4)
    (incident,) = pagerduty.records
    assert (incident.service, incident.calls, incident.is_open) == ("key-of-sales", 1, False)
    assert pagerduty.resolved == [incident.key]
    assert len(pagerduty.asked) == 2
    rows = DeltaTable(str(tmp_path / "findings")).to_pyarrow_table().to_pylist()
    verdicts = {row["try_number"]: row["verdict"] for row in rows if row["record"] == "table"}
    assert verdicts == {1: "VIOLATED", 2: "VIOLATED", 3: "VIOLATED", 4: "PASS"}
    assert len({row["run"] for row in rows}) == 4
    assert Counter((row["try_number"], row["record"], row["code"]) for row in rows) == {
        **{(attempt, "table", None): 1 for attempt in verdicts},
        **{(attempt, "finding", "CM01"): 1 for attempt in verdicts},
    }
    findings = {row["try_number"]: row for row in rows if row["record"] == "finding"}
    assert {attempt: row["is_open"] for attempt, row in findings.items()} == {1: True, 2: True, 3: True, 4: False}
    assert len({row["finding_key"] for row in findings.values()}) == 1
    assert {row["owner"] for row in rows} == {"sales"}
