"""What OpenLineage is told of runs through Airflow's own services: the provider's listener, in real workers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from airflow_delta_provider.jobs.spark.session import own_session
from tests.browser.lake import make_lake
from tests.system.airflow_services import AirflowServices, DagRun, airflow_home, services_of
from tests.system.orders_table import orders
from tests.system.process_tree import wait_for

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(find_spec("openlineage") is None, reason="OpenLineage is not there: make lineage installs it"),
]

CHECKOUT = Path(__file__).resolve().parents[2]
DAGS = (CHECKOUT / "tests/browser/dags/guard_orders.py", CHECKOUT / "dags_examples/enable_features_and_widen.py")


class Told:
    """The file of events."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def at_the_end_of(self, task: str) -> dict[str, Any]:
        """Return the event that a task has ended, as soon as it is there."""
        wait_for(lambda: self._ended(task), f"the event of {task}", 60, every=1)
        return self._ended(task)[-1]

    def _ended(self, task: str) -> list[dict[str, Any]]:
        lines = self._path.read_text(encoding="utf-8").splitlines() if self._path.exists() else []
        events = [event for event in map(json.loads, lines) if event["job"]["name"] == task]
        return [event for event in events if event["eventType"] in ("COMPLETE", "FAIL")]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    return Told(tmp_path_factory.mktemp("lineage") / "events.jsonl")


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory, told: Told) -> Iterator[AirflowServices]:
    home = airflow_home(tmp_path_factory.mktemp("airflow"), DAGS)
    transport = {"type": "file", "log_file_path": str(told._path), "append": True}
    home.environment["AIRFLOW__OPENLINEAGE__TRANSPORT"] = json.dumps(transport)
    home.finish_migration(home.start_migration())
    with services_of(home) as services:
        yield services


def ended(run: DagRun) -> None:
    wait_for(lambda: run.state in ("success", "failed"), "the end of the run", 300, every=1)
    assert run.state == "success", run.states()


def columns(dataset: dict[str, Any]) -> dict[str, str]:
    return {field["name"]: field["type"] for field in dataset["facets"]["schema"]["fields"]}


def test_audits_tell_what_they_read_and_found(services: AirflowServices, told: Told, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    make_lake(lake)
    ended(services.trigger("guard_orders", lake=str(lake)))
    event = told.at_the_end_of("guard_orders.audit")
    [orders_dataset] = event["inputs"]
    assert (event["eventType"], event["outputs"]) == ("COMPLETE", [])
    assert (orders_dataset["namespace"], orders_dataset["name"]) == ("file", str(lake / "orders"))
    assert columns(orders_dataset)["id"] == "bigint"
    found = orders_dataset["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert [(each["assertion"][:5], each["success"]) for each in found] == [("audit", False), ("MD03 ", False)]
    every = told.at_the_end_of("guard_orders.every")["inputs"]
    assert {Path(dataset["name"]).name for dataset in every} == {"orders", "returns", "nasty"}


def test_changes_tell_the_table_that_they_made(services: AirflowServices, told: Told, tmp_path: Path) -> None:
    spark = own_session("lineage tests", "local[2]")
    table = orders(spark, tmp_path / "orders")
    wanted = {"quantity": "bigint", "lines.element.price": "decimal(12,2)"}
    ended(services.trigger("enable_features_and_widen", table=str(table), columns=wanted))
    event = told.at_the_end_of("enable_features_and_widen.widen_columns")
    [changed] = event["outputs"]
    assert event["inputs"] == []
    assert (changed["namespace"], changed["name"]) == ("file", str(table))
    assert columns(changed)["quantity"] == "bigint"
    assert "decimal(12,2)" in columns(changed)["lines"]
