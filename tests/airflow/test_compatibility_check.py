"""The compatibility check in Airflow: in the task's own process, with a fleet file beside the DAG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_delta_provider.exceptions import DeltaRequestError, DeltaViolationError
from airflow_delta_provider.operators.compatibility_check import DeltaCompatibilityCheckOperator
from airflow_delta_provider.operators.enable_feature import DeltaEnableFeatureOperator
from tests.airflow.test_operators import Run
from tests.unit.local_table import OnDisk
from tests.unit.log_builder import Table
from tests.unit.states import field

FLEET = """
engines:
  - {engine: deltalake, version: 1.4.0, name: exports, writes: true}
must_stay_writable_by: [exports]
"""


@pytest.fixture
def table(tmp_path: Path) -> str:
    OnDisk(tmp_path / "t", Table(field("id", "long")).append())
    return str(tmp_path / "t")


def in_dag(folder: Path, operator: type = DeltaCompatibilityCheckOperator, **arguments: Any) -> Any:
    with DAG("d", schedule=None) as dag:
        dag.fileloc = str(folder / "dag.py")
        return operator(task_id="t", **arguments)


def test_a_feature_that_locks_an_engine_of_the_fleet_out_fails_the_task(tmp_path: Path, table: str) -> None:
    (tmp_path / "fleet.yaml").write_text(FLEET)
    run = Run()
    check = in_dag(tmp_path, table=table, features=["rowTracking"], fleet="fleet.yaml", engine="python")

    with pytest.raises(DeltaViolationError, match="exports must stay able to read and write this table"):
        check.execute(run.context)

    assert [finding["code"] for finding in run.pushed["findings"]["findings"]] == ["CP02"]
    tables_as_they_are = in_dag(tmp_path, table=table, fleet="fleet.yaml", engine="python")
    assert tables_as_they_are.execute(Run().context)["verdict"] == "PASS"


def test_a_fleet_travels_with_the_request_of_a_change(tmp_path: Path) -> None:
    (tmp_path / "fleet.yaml").write_text(FLEET)
    enable = in_dag(tmp_path, DeltaEnableFeatureOperator, table="/t", features="rowTracking", fleet="fleet.yaml")
    wire = enable.request(Run().context).to_json()
    assert wire["options"]["fleet"]["engines"][0]["name"] == "exports"


def test_a_mistake_in_the_file_is_said_while_the_dag_is_parsed_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "fleet.yaml").write_text("engines:\n  - {engine: deltalak}\n")
    with pytest.raises(DeltaRequestError, match=r"fleet: line 2, column 14: .*Did you mean 'deltalake'\?"):
        in_dag(tmp_path, table="/t", fleet="fleet.yaml")


@pytest.mark.parametrize(("text", "says"), [("secret", "has to be a mapping"), ("secret: [", "is not YAML in line 2")])
def test_what_is_no_fleet_file_is_said_without_what_it_holds(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "fleet.yaml").write_text(text)
    with pytest.raises(DeltaRequestError, match=says) as raised:
        in_dag(tmp_path, table="/t", fleet="fleet.yaml")
    assert "secret" not in str(raised.value)


def test_a_text_that_a_template_rendered_to_never_names_a_file(tmp_path: Path) -> None:
    (tmp_path / "fleet.yaml").write_text(FLEET)
    check = in_dag(tmp_path, table="/t", fleet="{{ params.x }}", engine="python")
    check.render_template_fields({"params": {"x": str(tmp_path / "fleet.yaml")}})
    with pytest.raises(DeltaRequestError, match="fleet was rendered to"):
        check.request(Run().context)


def test_days_may_be_a_template(tmp_path: Path, table: str) -> None:
    check = in_dag(tmp_path, table=table, days="{{ params.x }}", engine="python")
    check.render_template_fields({"params": {"x": "30"}})
    assert check.request(Run().context).options.days == 30
    with pytest.raises(DeltaRequestError, match="days is 0; it has to be a number of days"):
        in_dag(tmp_path, table=table, days=0)
