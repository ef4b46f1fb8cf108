"""Audits that remember, killed by SIGKILL at every point, in a real scheduler: no alert is lost, and none is repeated
night after night."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.airflow.fake_spark_submit import FakeSparkSubmit
from tests.system.airflow_services import AirflowServices, airflow_home, services_of
from tests.system.nights import Nights

pytestmark = pytest.mark.soak

#: After what something dies: the driver or the task process in the middle of the job, then the task process.
POINTS = ("driver remembered", "worker remembered", "received", "pushed", "told", "confirmed")
_DAGS = Path(__file__).parent / "dags"
#: What the job does, with findings from a file: compares, remembers table after table, and reports.
_JOB = """
from pathlib import Path
from airflow_delta_provider.domain.report.confirmation import ReportedFindings
from airflow_delta_provider.domain.report.report import Finding

tables, state = [], Path(request["options"]["state_path"])
for table in request["tables"]:
    file = state / f"{Path(table).name}.json"
    kept = json.loads(file.read_text()) if file.exists() else None
    known = ReportedFindings.from_json(kept["reported"]) if kept else ReportedFindings()
    before = [Finding.from_json(wire) for wire in kept["findings"]] if kept else []
    found = [Finding.from_json(wire) for wire in json.loads((Path(table) / "findings.json").read_text())]
    compared = known.received(request["received"], table).compare(found, before)
    told = compared.with_status(compared.findings)
    reported = compared.reported(told, request["receipt"])
    remembered = {"reported": reported.to_json(), "findings": [finding.to_json() for finding in found]}
    file.with_suffix(".new").write_text(json.dumps(remembered))
    file.with_suffix(".new").replace(file)
    time.sleep(0.3)
    tables.append(TableReport.of_findings(table, *told, receipt=request["receipt"] if reported.pending else None))
now = "2026-01-01T00:00:00.000+00:00"
send("report", JobReport("audit", now, now, tuple(tables), {}).to_json())
"""


@pytest.fixture(scope="module")
def quick_services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AirflowServices]:
    """An Airflow of its own whose jobs take no Spark."""
    folder = tmp_path_factory.mktemp("kills")
    with pytest.MonkeyPatch.context() as patch:
        FakeSparkSubmit(folder, patch).does(_JOB)
        home = airflow_home(folder, [_DAGS / "audit_that_dies.py"])
        home.environment["PATH"] = os.pathsep.join([os.environ["PATH"], home.environment["PATH"]])  # the fake one first
        home.environment["DELTA_JARS"] = "provided"
        home.finish_migration(home.start_migration())
        with services_of(home) as services:
            yield services


def find(table: Path, *codes: str) -> None:
    """Let the next audits find this."""
    table.mkdir(exist_ok=True)
    wire = [{"code": code, "severity": "ERROR", "message": code, "fingerprint": code} for code in codes]
    (table / "findings.json").write_text(json.dumps(wire))


@pytest.mark.parametrize("policy", ["warn", "fail"])
@pytest.mark.parametrize("point", POINTS)
def test_audit_that_is_killed_loses_no_alert(
    quick_services: AirflowServices, tmp_path: Path, point: str, policy: str
) -> None:
    tables = [tmp_path / f"table-{number}" for number in range(3)]
    nights = Nights(quick_services, policy, tmp_path, tables)
    for table in tables:
        find(table, "RT05")
    nights.audit(dies_after=point)
    nights.audit()
    nights.check_told("new", 2)
    told = nights.told()
    nights.audit()
    assert nights.told() == told
    for table in tables:
        find(table)
    nights.audit(dies_after=point)
    nights.audit()
    nights.check_told("resolved", 2)
    told = nights.told()
    nights.audit()
    assert nights.told() == told
